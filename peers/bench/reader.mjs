// The peer of `cargo xtask bench --only run`: the least that a Node program does to run an agent. It starts it, reads its lines and
// parses each of them. It records and prints nothing, and whatever the agent leaves behind is left behind.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const agent = spawn(process.argv[2], [], { stdio: ["ignore", "pipe", "inherit"] });
let lines = 0;
let last;
createInterface({ input: agent.stdout, crlfDelay: Infinity }).on("line", (line) => {
  last = JSON.parse(line);
  lines += 1;
});
agent.on("close", (code) => {
  console.log(lines, last.type);
  process.exitCode = code;
});
