import { HoldfastError } from "../../session/errors.ts";
import { clip } from "../../session/text.ts";
import type { Provider } from "../provider.ts";

/** The exact pair that selects a provider. Both parts are compared as they are; there are no wildcards. */
export interface Route {
  readonly provider: string;
  readonly model: string;
}

/** Nobody registered the route asked for. `routes` are the ones that exist, in order. */
export class NoRouteError extends HoldfastError {
  readonly code = "no-route";
  readonly route: Route;
  readonly routes: readonly Route[];

  constructor(route: Route, routes: readonly Route[]) {
    super(`There is no route to ${formatRoute(route)}. ${listRoutes(routes)}`, {
      hint: "Ask for one of the registered routes, or configure a provider for this model and start again.",
    });
    this.route = route;
    this.routes = routes;
  }
}

/** A route was registered twice: a mistake in the configuration. The first registration stands. */
export class DuplicateRouteError extends HoldfastError {
  readonly code = "duplicate-route";

  constructor(route: Route) {
    super(`The route to ${formatRoute(route)} is registered already`, {
      hint: "Configure each pair of provider and model once.",
    });
  }
}

/** Exact routes to providers. What is not registered is an error: no default and no silent fallback. */
export class ProviderRegistry {
  readonly #entries = new Map<string, { readonly route: Route; readonly provider: Provider }>();

  /** @throws DuplicateRouteError when the route is taken. */
  register(route: Route, provider: Provider): void {
    const key = keyOf(route);
    if (this.#entries.has(key)) throw new DuplicateRouteError(route);
    this.#entries.set(key, { route: { provider: route.provider, model: route.model }, provider });
  }

  /** @throws NoRouteError when exactly this route was not registered. */
  resolve(route: Route): Provider {
    const entry = this.#entries.get(keyOf(route));
    if (entry === undefined) throw new NoRouteError(route, this.routes());
    return entry.provider;
  }

  /** All routes in the order in which they were registered. */
  routes(): readonly Route[] {
    return [...this.#entries.values()].map((entry) => entry.route);
  }
}

// A pair as JSON, so that no separator inside a name can make two routes look alike.
function keyOf(route: Route): string {
  return JSON.stringify([route.provider, route.model]);
}

function formatRoute(route: Route): string {
  return `provider "${clip(route.provider, 80)}", model "${clip(route.model, 80)}"`;
}

function listRoutes(routes: readonly Route[]): string {
  if (routes.length === 0) return "No route is registered.";
  const names = routes.slice(0, 10).map((route) => clip(`${route.provider}/${route.model}`, 120));
  const rest = routes.length > names.length ? ` and ${routes.length - names.length} more` : "";
  return `Registered: ${names.join(", ")}${rest}.`;
}
