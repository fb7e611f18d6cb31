import type { Random } from "../../bench/random.ts";
import { type Mutated, noise } from "./mutate-bytes.ts";

/* What is done to a SQLite database, by the structure of its file. */

type PageMutation = (bytes: Buffer, random: Random, donor: Buffer, size: number) => string;

/** Where numbers stand in the header of a database, and how many bytes they have. */
const HEADER_FIELDS: ReadonlyArray<readonly [name: string, at: number, bytes: 1 | 2 | 4]> = [
  ["magic", 0, 4],
  ["page size", 16, 2],
  ["write version", 18, 1],
  ["read version", 19, 1],
  ["reserved space", 20, 1],
  ["payload fractions", 21, 1],
  ["change counter", 24, 4],
  ["size in pages", 28, 4],
  ["freelist trunk", 32, 4],
  ["freelist pages", 36, 4],
  ["schema cookie", 40, 4],
  ["schema format", 44, 4],
  ["largest root", 52, 4],
  ["encoding", 56, 4],
  ["user version", 60, 4],
  ["vacuum", 64, 4],
  ["application id", 68, 4],
  ["valid for", 92, 4],
];
const FIRST_PAGE_START = 100;
const NUMBERS = [0, 1, 2, 3, 5, 127, 128, 255, 4_096, 65_535, 2 ** 31 - 1, 2 ** 32 - 1];

/** Size of a page, as far as the header can be believed. */
export function pageSize(bytes: Buffer): number {
  const size = bytes.length < 18 ? 0 : bytes.readUInt16BE(16);
  return size >= 512 && (size & (size - 1)) === 0 ? size : 4_096;
}

function writeNumber(bytes: Buffer, at: number, width: 1 | 2 | 4, value: number): void {
  if (at + width <= bytes.length) bytes.writeUIntBE(value % 2 ** (8 * width), at, width);
}

/** Where a page begins, and where its own header does. */
function somePage(
  bytes: Buffer,
  random: Random,
  size: number,
): { readonly at: number; readonly head: number } {
  const at = random.below(Math.max(1, Math.floor(bytes.length / size))) * size;
  return { at, head: at === 0 ? FIRST_PAGE_START : at };
}

/** Where a cell of a page begins; nothing where the page has none. */
function someCell(
  bytes: Buffer,
  random: Random,
  size: number,
): { readonly cell: number; readonly pointer: number } | undefined {
  const { at, head } = somePage(bytes, random, size);
  if (head + 12 > bytes.length) return undefined;
  const type = bytes[head];
  const count = bytes.readUInt16BE(head + 3);
  if (type === undefined || ![2, 5, 10, 13].includes(type) || count === 0) return undefined;
  const pointers = head + (type === 2 || type === 5 ? 12 : 8);
  const pointer = pointers + 2 * random.below(count);
  if (pointer + 2 > bytes.length) return undefined;
  return { cell: at + bytes.readUInt16BE(pointer), pointer };
}

const MUTATIONS: readonly PageMutation[] = [
  (bytes, random) => {
    const [name, at, width] = random.pick(HEADER_FIELDS);
    const value = random.pick([...NUMBERS, random.below(2 ** 31)]);
    writeNumber(bytes, at, width, value);
    return `header: ${name} = ${value}`;
  },
  (bytes, random, _, size) => {
    const { at } = somePage(bytes, random, size);
    bytes.fill(0, at, at + size);
    return `page at ${at} = zeros`;
  },
  (bytes, random, _, size) => {
    const { at } = somePage(bytes, random, size);
    noise(random, 64).copy(bytes, at + random.below(size));
    return `noise in the page at ${at}`;
  },
  (bytes, random, _, size) => {
    const [from, to] = [somePage(bytes, random, size).at, somePage(bytes, random, size).at];
    bytes.copyWithin(to, from, from + size);
    return `page at ${to} = page at ${from}`;
  },
  (bytes, random, _, size) => {
    const [a, b] = [somePage(bytes, random, size).at, somePage(bytes, random, size).at];
    const kept = Buffer.from(bytes.subarray(a, a + size));
    bytes.copyWithin(a, b, b + size);
    kept.copy(bytes, b);
    return `swap the pages at ${a} and ${b}`;
  },
  (bytes, random, donor, size) => {
    const [from, to] = [somePage(donor, random, size).at, somePage(bytes, random, size).at];
    donor.copy(bytes, to, from, from + size);
    return `page at ${to} = page at ${from} of another database`;
  },
  (bytes, random, _, size) => {
    const { at, head } = somePage(bytes, random, size);
    const [name, offset, width] = random.pick([
      ["type", 0, 1],
      ["free block", 1, 2],
      ["cells", 3, 2],
      ["content", 5, 2],
      ["fragments", 7, 1],
      ["right page", 8, 4],
    ] as const);
    const value = random.pick([...NUMBERS, 5, 13, 10, random.below(300)]);
    writeNumber(bytes, head + offset, width, value);
    return `page at ${at}: ${name} = ${value}`;
  },
  (bytes, random, _, size) => {
    const found = someCell(bytes, random, size);
    if (found === undefined) return "nothing";
    const value = random.pick([
      0,
      65_535,
      random.below(size),
      bytes.readUInt16BE(found.pointer) + random.between(-2, 2),
    ]);
    writeNumber(bytes, found.pointer, 2, Math.max(0, value));
    return `cell pointer at ${found.pointer} = ${value}`;
  },
  (bytes, random, _, size) => {
    const found = someCell(bytes, random, size);
    if (found === undefined) return "nothing";
    const at = found.cell + random.below(12);
    if (at < bytes.length)
      bytes.writeUInt8(random.pick([0, 1, 0x7f, 0x80, 0xff, (bytes[at] ?? 0) ^ (1 << random.below(8))]), at);
    return `byte ${at}, in the head of a cell`;
  },
  (bytes, random, _, size) => {
    const found = someCell(bytes, random, size);
    if (found === undefined) return "nothing";
    const at = Math.min(bytes.length - 1, found.cell + random.below(400));
    bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << random.below(8)), at);
    return `flip a bit of byte ${at}, in a cell`;
  },
  (bytes, random, _, size) => {
    const found = someCell(bytes, random, size);
    const other = someCell(bytes, random, size);
    if (found === undefined || other === undefined) return "nothing";
    const [a, b] = [bytes.readUInt16BE(found.pointer), bytes.readUInt16BE(other.pointer)];
    writeNumber(bytes, found.pointer, 2, b);
    writeNumber(bytes, other.pointer, 2, a);
    return `swap the cell pointers at ${found.pointer} and ${other.pointer}`;
  },
];

/** Does one thing to the pages of a database. */
export function mutatePages(bytes: Buffer, random: Random, donor: Buffer): Mutated {
  const size = pageSize(bytes);
  if (bytes.length < size || donor.length < size) return { bytes, step: "nothing" };
  if (random.below(12) === 0) {
    const pages = random.between(0, Math.floor(bytes.length / size));
    return { bytes: Buffer.from(bytes.subarray(0, pages * size)), step: `cut off behind ${pages} pages` };
  }
  const copy = Buffer.from(bytes);
  const step = random.pick(MUTATIONS)(copy, random, donor, size);
  return { bytes: copy, step };
}
