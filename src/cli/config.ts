import { type EffectiveSecret, type EffectiveSetting, effectiveConfig } from "../host/effective.ts";
import type { RawOptions } from "../host/usage.ts";
import { EXIT } from "./exit-codes.ts";
import { jsonText } from "./json-text.ts";
import { printing } from "./output.ts";
import { printableLine } from "./printable.ts";

/** A longer value moves what follows it. */
const MOST_COLUMNS = 40;

/** `holdfast config`: prints what `serve` would run with, and where each value came from. Starts nothing. */
export function config(raw: RawOptions, json: boolean): Promise<number> {
  const { settings, secrets } = effectiveConfig(raw, process.env);
  return printing(async (output) => {
    await output.write(json ? `${jsonText({ settings, secrets })}\n` : textOf(settings, secrets));
    return EXIT.ok;
  });
}

function textOf(settings: readonly EffectiveSetting[], secrets: readonly EffectiveSecret[]): string {
  const heading = ["SETTING", "VALUE", "FROM"];
  const rows = settings.map(({ name, value, from, source }) => [name, valueText(value), source ?? from]);
  const table = [heading, ...rows].map((cells) => cells.map(printableLine));
  const widthOf = (k: number) => Math.max(...table.map((cells) => Bun.stringWidth(cells[k] ?? "")));
  const widths = [widthOf(0), Math.min(MOST_COLUMNS, widthOf(1)), 0];
  const lines = table.map((cells) => cells.map((cell, k) => padded(cell, widths[k] ?? 0)).join("  "));
  const held = secrets.map(
    ({ name, isSet, holder }) => `${padded(name, widthOf(0))}  ${secretText(isSet, holder)}`,
  );
  return `${[...lines, ...held].join("\n")}\n`;
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
}

function secretText(isSet: boolean, holder: string | undefined): string {
  if (holder === undefined) return "not set";
  return printableLine(isSet ? `set, from ${holder}` : `not set, looked for in ${holder}`);
}

function valueText(value: unknown): string {
  if (value === null) return "-";
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}
