/** What the runtime has and the language's types do not know yet. */
interface JSON {
  /** A number that JSON.stringify writes as this text. */
  rawJSON(text: string): object;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}
