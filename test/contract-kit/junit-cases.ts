/** A case of a JUnit report. */
export interface ReportedCase {
  /** The file, then the groups that the case is in, from the outside in. */
  readonly groups: readonly string[];
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** What the failure says. */
  readonly message: string;
}

const TAGS = /<(\/?)(testsuite|testcase|failure|error|skipped)\b((?:"[^"]*"|[^">])*?)(\/?)>/g;

/** The cases of a JUnit report as `bun test` writes it, in order. */
export function casesOf(xml: string): ReportedCase[] {
  const cases: ReportedCase[] = [];
  const groups: string[] = [];
  for (const [, closes, tag = "", attributes = "", isEmpty] of xml.matchAll(TAGS)) {
    if (tag === "testsuite") {
      if (closes === "/") groups.pop();
      else if (isEmpty === "") groups.push(attribute(attributes, "name"));
    } else if (tag === "testcase" && closes === "") {
      cases.push({
        groups: [...groups],
        name: attribute(attributes, "name"),
        outcome: "passed",
        message: "",
      });
    } else if (closes === "") {
      const open = cases.pop();
      const outcome = tag === "skipped" ? "skipped" : "failed";
      if (open !== undefined) cases.push({ ...open, outcome, message: attribute(attributes, "message") });
    }
  }
  return cases;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return value.replace(
    /&(?:#(\d+)|(\w+));/g,
    (whole, code: string | undefined, entity: string | undefined) => {
      if (code !== undefined) return String.fromCodePoint(Number(code));
      return ENTITIES[entity ?? ""] ?? whole;
    },
  );
}
