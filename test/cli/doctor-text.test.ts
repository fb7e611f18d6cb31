import { expect, test } from "bun:test";
import type { DoctorReport } from "../../src/cli/doctor/doctor.ts";
import { reportText } from "../../src/cli/doctor/text.ts";

const PATH = "/srv/a-folder-with-a-name/that-is-rather-long/agent.db";
const REPORT: DoctorReport = {
  version: "0.1.0",
  platform: "linux-x64",
  bun: "1.4.5",
  sqlite: "3.51.0",
  sessionFormat: 0,
  store: { kind: "sqlite", path: PATH, state: "store" },
  findings: [
    {
      level: "warning",
      code: "space-low",
      what: "Less space is left than the store and a copy of it would take, as a repair of all of it would",
      where: `file ${PATH}`,
      hint: "Free some.",
    },
  ],
};

test("doctor wraps its lines on a terminal between words, and leaves paths and commands whole", () => {
  const lines = reportText(REPORT, 60).split("\n");
  const isLong = (line: string) => Bun.stringWidth(line) > 60;
  expect(lines.filter(isLong)).toEqual([
    `Store     sqlite:${PATH}`,
    `         ${PATH}`,
    `  holdfast sessions verify --session-db ${PATH}`,
  ]);
  expect(lines.slice(-8)).toEqual([
    expect.stringMatching(/^ {9}\S/),
    `         where: file`,
    `         ${PATH}`,
    "         hint: Free some.",
    "",
    "The contents were not checked. That is done by:",
    `  holdfast sessions verify --session-db ${PATH}`,
    "",
  ]);
  expect(reportText(REPORT, undefined)).toEndWith(
    `\nThe contents were not checked. That is done by: holdfast sessions verify --session-db ${PATH}\n`,
  );
});
