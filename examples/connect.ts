// A small client of `lapidary connect`: it sends two prompts in one session and prints the answers as they arrive.
// It allows the agent to read and search, and denies everything else.
//
//     tsc --module esnext --moduleResolution bundler --target es2022 --types node --outDir build examples/connect.ts
//     node build/connect.js --agent claude 'what is in here?' 'and what is it for?'
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AgentEvent, Command } from "../schemas/lapidary.js";

const options = process.argv.slice(2);
const [first = "", second = ""] = options.splice(-2);
const lapidary = spawn(process.env["LAPIDARY"] ?? "lapidary", ["connect", "--no-raw", ...options], { stdio: ["pipe", "pipe", "inherit"] });
const over = once(lapidary, "close");
lapidary.stdin.on("error", () => {}); // lapidary may have exited already: `run_end` gives the cause
const give = (command: Command) => lapidary.stdin.write(JSON.stringify(command) + "\n");

async function* lines(): AsyncGenerator<string> {
  let rest = ""; // not `node:readline`: it also ends lines at U+2028 and U+2029, which JSON strings may contain
  for await (const piece of lapidary.stdout.setEncoding("utf8")) {
    const parts = (rest + piece).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

give({ command: "send_message", id: "first", text: first });
for await (const line of lines()) {
  const event: AgentEvent = JSON.parse(line);
  if (event.event === "stream_delta") {
    process.stdout.write(event.textDelta ?? "");
  } else if (event.event === "permission_request") {
    const allowed = event.toolKind === "read" || event.toolKind === "search";
    give({ command: "permission_response", requestId: event.requestId, allowed, message: "only looking is allowed" });
    console.log(`\n[${event.title ?? event.toolName}: ${allowed ? "allowed" : "denied"}]`);
  } else if (event.event === "elicitation_request") { // this client has no user to fill in a form
    give({ command: "elicitation_response", requestId: event.requestId, action: "decline" });
  } else if (event.event === "command_result") {
    if (event.isError) console.log(`\n[${event.command}: ${event.message}]`);
    if (event.commandId === "first") give({ command: "send_message", id: "second", text: second });
    if (event.commandId === "second") lapidary.stdin.end(); // no more commands: lapidary ends the agent and exits
  } else if (event.event === "run_end") {
    console.log(`\n${event.outcome}: ${event.cause}`);
  }
}
[process.exitCode] = await over; // 0 only if the last turn ended well
