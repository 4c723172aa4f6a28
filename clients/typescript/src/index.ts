/**
 * Runs coding agents and reads what they do as typed events.
 *
 * `run` is one prompt, `connect` a conversation, `runResult` an outcome, `watch` a run of a server.
 */
import "./node-version.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChildTransport } from "./child.js";
import { Connection } from "./connection.js";
import { LapidaryError } from "./errors.js";
import { fetchResult, HttpTransport } from "./http.js";
import { type AgentOptions, checkPrompt, commandLine, type RunOptions, type WatchOptions } from "./options.js";
import { AgentRun } from "./run.js";
import type { CommandResult, RunResult } from "./types.js";

export { findBinary, VERSION } from "./binary.js";
export type { Connection, PromptOptions, Turn } from "./connection.js";
export { LapidaryError, type LapidaryErrorCode } from "./errors.js";
export type {
  AgentOptions,
  ElicitationAnswer,
  ElicitationCallback,
  PermissionAnswer,
  PermissionCallback,
  RunOptions,
  ServerOptions,
  WatchOptions,
} from "./options.js";
export type { AgentRun } from "./run.js";
export type * from "./types.js";

/** Runs an agent on a prompt: a process of ours, or a run of a server. */
export function run(options: RunOptions): AgentRun {
  checkPrompt(options.prompt);
  if (options.server !== undefined) return new AgentRun(HttpTransport.forRun(options, options.server), options, "leader");
  if (options.onPermission !== undefined || options.onElicitation !== undefined) return attendedRun(options);
  const { args, clean } = promptArguments(options, "events");
  const transport = new ChildTransport(args, options);
  transport.write(options.prompt);
  transport.finish();
  void transport.closed.then(clean);
  return new AgentRun(transport, options, "reader");
}

/** Starts an agent that speaks ACP, and keeps it for several prompts. */
export function connect(options: AgentOptions = {}): Connection {
  if ("server" in options && options.server !== undefined) {
    throw new LapidaryError("unsupported_option", "`connect` has no `server`", "over HTTP, use `run` with `server`, and `watch`");
  }
  return new Connection(new ChildTransport(commandLine("connect", options), options), options, "leader");
}

/** Runs an agent on a prompt, and gives the outcome as one object. A run that fails is a result, not an error. */
export async function runResult(options: Omit<RunOptions, "onPermission" | "onElicitation">): Promise<RunResult> {
  const { signal } = options;
  checkPrompt(options.prompt);
  signal?.throwIfAborted();
  if (options.server !== undefined) {
    const run_ = run(options);
    await run_.finished();
    return fetchResult(options.server, run_.id ?? "");
  }
  const { args, clean } = promptArguments(options, "result");
  let result: RunResult | undefined;
  const transport = new ChildTransport(args, options);
  transport.write(options.prompt);
  transport.finish();
  const stop = (): void => void transport.stop();
  signal?.addEventListener("abort", stop);
  try {
    await new Promise<void>((resolve, reject) => {
      transport.start({
        event: (line) => {
          result = line as unknown as RunResult;
        },
        end: (failure) => (failure === undefined || result !== undefined ? resolve() : reject(failure.error as Error)),
      });
    });
  } finally {
    signal?.removeEventListener("abort", stop);
    clean();
  }
  signal?.throwIfAborted();
  if (result === undefined) throw new LapidaryError("ended_early", "`lapidary` printed no result");
  return result;
}

/** Reads the events of a run of a server, from its beginning or behind `after`. Leaving the loop does not end the run. */
export function watch(id: string, options: WatchOptions): AgentRun {
  return new AgentRun(HttpTransport.forWatch(id, options, options.server, options.after), options, "watcher");
}

/** A run whose requests are answered: a connection with one prompt. */
function attendedRun(options: RunOptions): AgentRun {
  if (options.resume !== undefined) {
    throw new LapidaryError("unsupported_option", "`resume` does not work with `onPermission`", "let rules decide (`allow`, `deny`), or use `connect` and the command `load_session` if the agent has it");
  }
  const transport = new ChildTransport(commandLine("connect", options), options);
  const run = new AgentRun(transport, options, "leader");
  const { prompt: text, outputSchema } = options;
  const done: Promise<CommandResult> = run.command({
    command: "send_message",
    text,
    ...(outputSchema === undefined ? {} : { outputSchema }),
  });
  done.then(() => transport.finish(), () => transport.finish()); // the `run_end` has the outcome
  return run;
}

function promptArguments(options: RunOptions, format: "events" | "result"): { args: string[]; clean: () => void } {
  const args = [...commandLine("run", options), `--format=${format}`];
  if (options.resume !== undefined) args.push(`--resume=${options.resume}`);
  if (options.outputSchema === undefined) return { args: [...args, "-"], clean: () => {} };
  const folder = mkdtempSync(join(tmpdir(), "lapidary-"));
  const file = join(folder, "schema.json");
  writeFileSync(file, JSON.stringify(options.outputSchema));
  return { args: [...args, `--output-schema=${file}`, "-"], clean: () => rmSync(folder, { recursive: true, force: true }) };
}
