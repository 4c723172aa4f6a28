// The peer of `cargo xtask bench`: the least that a Node program does with a stream of JSON lines. It reads the file in
// chunks, splits it at newlines, parses each line and keeps the line beside the value. It translates and prints nothing.

import { closeSync, openSync, readSync } from "node:fs";

const file = openSync(process.argv[2], "r");
const chunk = Buffer.allocUnsafe(1 << 20);
let pending = []; // the beginning of a line that goes on in the next chunk
let lines = 0;
let last = { raw: "", value: undefined };

function line(bytes) {
  if (bytes.length === 0) return;
  const raw = bytes.toString("utf8");
  last = { raw, value: JSON.parse(raw) };
  lines += 1;
}

for (let length; (length = readSync(file, chunk)) > 0; ) {
  let start = 0;
  for (let end; (end = chunk.indexOf(10, start)) !== -1 && end < length; start = end + 1) {
    const rest = chunk.subarray(start, end);
    line(pending.length === 0 ? rest : Buffer.concat([...pending, rest]));
    pending = [];
  }
  if (start < length) pending.push(Buffer.from(chunk.subarray(start, length)));
}
line(Buffer.concat(pending));
closeSync(file);
console.log(lines, last.raw.length);
