import { configure, getTextFormatter } from "@logtape/logtape";

/** Plain words as they are; anything that could fake a line or a colour is shown quoted. */
function formatValue(value: unknown, inspect: (value: unknown) => string): string {
  return typeof value === "string" && /^[\x20-\x7e]*$/.test(value) ? value : inspect(value);
}

/** Sends log records from a level on to stderr, one line each: time, level, category, message. */
export async function configureLogging(lowestLevel: "info" | "warning" = "info"): Promise<void> {
  const format = getTextFormatter({ timestamp: "rfc3339", value: formatValue });
  await configure({
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: ["holdfast"], lowestLevel, sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["stderr"] },
    ],
  });
}
