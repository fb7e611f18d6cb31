import type { LogView } from "../session/log-view.ts";
import type { BoundedFollower, LiveFeed, LiveFollower, LiveItem } from "./live-feed.ts";

/**
 * Follows one Turn: nothing while it waits in the queue, then its own events from its `turn/start` on, and nothing of
 * the Turn after it. Whoever runs the Turn says when it begins and ends; both can be said late, or only the end.
 */
export class LiveTurn implements LiveFollower {
  readonly #feed: LiveFeed;
  readonly #log: LogView;
  #from: number | undefined;
  #to: number | undefined;
  #follower: BoundedFollower | undefined;

  constructor(feed: LiveFeed, log: LogView) {
    this.#feed = feed;
    this.#log = log;
  }

  /** What the log gets from here on belongs to this Turn. */
  begin(): void {
    this.#from = this.#log.length;
    this.#feed.wake();
  }

  /** The Turn is over, or will never be run. */
  end(): void {
    this.#to ??= this.#log.length;
    this.#feed.wake();
  }

  take(maxLength: number): LiveItem[] {
    return this.#begun()?.take(maxLength, this.#to) ?? [];
  }

  hasMore(): boolean {
    return this.#begun()?.hasMore(this.#to) ?? false;
  }

  get ended(): boolean {
    return this.#to !== undefined && !this.hasMore();
  }

  changed(signal?: AbortSignal): Promise<void> {
    return this.#feed.until(() => this.#to !== undefined || this.hasMore(), signal);
  }

  #begun(): BoundedFollower | undefined {
    if (this.#follower !== undefined || this.#from === undefined) return this.#follower;
    // What closes an earlier Turn, that a failing store left open, comes first and is not of this one.
    for (const { type, seq } of this.#log.records(this.#from, this.#to)) {
      if (type !== "turn/start") continue;
      this.#follower = this.#feed.follow(seq);
      break;
    }
    return this.#follower;
  }
}
