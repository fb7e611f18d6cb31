/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * What `fetch` is given beside the rest, so that a request with a secret goes to the server of this URL and nowhere else. No
 * redirect is followed. BUN_CONFIG_VERBOSE_FETCH does not have it printed. A server on this machine is not asked through the
 * proxy that HTTP_PROXY and its like name, which could not reach it.
 */
export function straightTo({ hostname }: URL): object {
  const host = hostname.replace(/^\[|\]$/g, "");
  const isLocal = isLoopback(host) || host.endsWith(".localhost");
  return { redirect: "manual", verbose: false, ...(isLocal ? { proxy: false } : {}) };
}
