import { createHash, timingSafeEqual } from "node:crypto";
import { problem } from "./problem.ts";

export interface GuardOptions {
  /** Host names under which this server may be addressed; any name when absent. */
  readonly hosts?: ReadonlySet<string>;
  /** Token that each request must carry; none when absent. */
  readonly token?: string;
}

/**
 * Refuses requests that a foreign web page could have sent: a `Host` that is not ours (DNS rebinding), an `Origin` that
 * is not the host itself; and, where a token is set, requests without it. The guard returns the refusal, or nothing.
 */
export function createGuard(options: GuardOptions): (request: Request) => Response | undefined {
  const { hosts } = options;
  // A client sends the same one again and again.
  let known: string | undefined;
  return (request) => {
    const host = request.headers.get("host") ?? "";
    if (hosts !== undefined && host !== known) {
      if (!hosts.has(hostName(host))) return foreignHost();
      known = host;
    }
    return refuse(request, host, options);
  };
}

function foreignHost(): Response {
  return problem("foreign-host", "The Host header names another host.", "Address the server as localhost.");
}

function refuse(request: Request, host: string, options: GuardOptions): Response | undefined {
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) {
    return problem("foreign-origin", "Requests from pages of other origins are refused.");
  }
  // Requests without an Origin, such as those of <script> and <img>; browsers tell where they come from.
  const site = request.headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") {
    return problem("foreign-origin", "Requests from pages of other origins are refused.");
  }
  if (options.token !== undefined && !hasToken(request, options.token)) {
    const refusal = problem(
      "unauthorised",
      "The request carries no valid token.",
      "Send `Authorization: Bearer <token>`; `holdfast invoke` takes it from HOLDFAST_TOKEN.",
    );
    refusal.headers.set("www-authenticate", "Bearer");
    return refusal;
  }
  return undefined;
}

/** `localhost:80` → `localhost`, `[::1]:80` → `[::1]`; lower case. */
function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function hasToken(request: Request, token: string): boolean {
  const sent = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  // Digests have one length, so that the comparison takes the same time for every guess.
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
