import { configure, getTextFormatter } from "@logtape/logtape";

/** Sends log records to stderr, one line each: time, level, category, message. */
export async function configureLogging(): Promise<void> {
  const format = getTextFormatter({ timestamp: "rfc3339" });
  await configure({
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: ["holdfast"], lowestLevel: "info", sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["stderr"] },
    ],
  });
}
