import { parseArgs } from "node:util";

/* Stands in for curl on a machine without one: `curl -s [-X METHOD] [-H HEADER]… [-d BODY] URL`. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: "boolean", short: "s" },
    request: { type: "string", short: "X", default: "GET" },
    header: { type: "string", short: "H", multiple: true, default: [] },
    data: { type: "string", short: "d" },
  },
});
const headers = new Headers();
for (const header of values.header) {
  const at = header.indexOf(":");
  headers.append(header.slice(0, at), header.slice(at + 1).trim());
}
const { request: method, data } = values;
const response = await fetch(positionals[0] ?? "", {
  method,
  headers,
  ...(data === undefined ? {} : { body: data }),
});
process.stdout.write(await response.text());
