import { describe, expect, test } from "bun:test";
import { pagerCommand } from "../../src/cli/pager.ts";

const found = () => "/usr/bin/less";
const TERM = "xterm";

describe("the pager is", () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[] | undefined]>([
    ["less, where nothing is said", { TERM }, ["less", "-FRX"]],
    ["what PAGER says, as a shell reads it", { TERM, PAGER: "less -S" }, ["sh", "-c", "less -S"]],
    ["what HOLDFAST_PAGER says before it", { TERM, HOLDFAST_PAGER: "a", PAGER: "b" }, ["sh", "-c", "a"]],
    ["what PAGER says where the other is empty", { TERM, HOLDFAST_PAGER: "", PAGER: "b" }, ["sh", "-c", "b"]],
    ["none, where it is cat", { TERM, PAGER: " cat " }, undefined],
    ["none, where it is empty", { TERM, PAGER: "" }, undefined],
    ["none, on a dumb terminal", { TERM: "dumb" }, undefined],
  ])("%s", (_, variables, expected) => {
    expect(pagerCommand(variables, found)).toEqual(expected);
  });

  test("none, where there is no less", () => {
    expect(pagerCommand({ TERM }, () => null)).toBeUndefined();
  });
});
