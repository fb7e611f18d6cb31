/** Counts of a JUnit report. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Counts the test cases of a JUnit report by their own elements, not by the totals that a runner claims: a file whose
 * tests never ran then counts as nothing.
 */
export function summarise(xml: string): Counts {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const [, closed, body] of xml.matchAll(
    /<testcase\b(?:"[^"]*"|'[^']*'|[^"'>])*?(?:(\/>)|>([\s\S]*?)<\/testcase>)/g,
  )) {
    if (closed !== undefined || body === undefined) passed += 1;
    else if (/<(failure|error)\b/.test(body)) failed += 1;
    else if (/<skipped\b/.test(body)) skipped += 1;
    else passed += 1;
  }
  return { passed, failed, skipped };
}
