#!/usr/bin/env node
// `npx lapidary`: the binary, with our arguments, streams, signals and exit code.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBinary, startError } from "./binary.js";
import { LapidaryError } from "./errors.js";

function fail(error: unknown): never {
  process.stderr.write(`error: ${error instanceof LapidaryError ? error.message : String(error)}\n`);
  process.exit(1);
}

let binary = "";
try {
  await import("./node-version.js"); // imported here, so that its error is caught
  binary = findBinary();
} catch (error) {
  fail(error);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(startError(binary, error)));
// A terminal sends its signals to the binary, too. Those of others are passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
}
child.on("exit", (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
});
