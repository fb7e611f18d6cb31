/** The path of a request as it came. Its URL is no URL where the `Host` header names a port that cannot be. */
export function requestPath({ url }: Request): string {
  return /^[^:/?#]+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? url;
}
