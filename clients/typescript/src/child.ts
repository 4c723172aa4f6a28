// `lapidary run` and `lapidary connect` as a child process.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { checkBinary, findBinary, startError } from "./binary.js";
import { LapidaryError } from "./errors.js";
import { LineSplitter } from "./lines.js";
import type { AgentOptions } from "./options.js";
import type { EventSink, Transport } from "./transport.js";
import type { AgentEvent, Command } from "./types.js";

const LONGEST_LINE = 256 * 1024 * 1024;
/** Bytes of stderr that are kept for an error. */
const STDERR_TAIL = 16 * 1024;
/** How long `lapidary` may take to end its agent before it is killed; then its supervisor ends the agent. */
const STOP_MILLISECONDS = 20_000;

/** Children that are ended with this process. */
const living = new Set<ChildProcessWithoutNullStreams>();
let isWatchingExit = false;

function endWithThisProcess(child: ChildProcessWithoutNullStreams): void {
  living.add(child);
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.on("exit", () => {
    for (const left of living) left.kill("SIGTERM");
  });
}

/** A process that prints events. */
export class ChildTransport implements Transport {
  #child: ChildProcessWithoutNullStreams | undefined;
  #sink: EventSink | undefined;
  #stderr = "";
  #isStopped = false;
  #hasEnded = false;
  #killer: NodeJS.Timeout | undefined;
  #input: string[] = [];
  #isFinished = false;
  #failure: { error: unknown } | undefined;
  /** Resolves when the process is gone. */
  readonly closed: Promise<void>;
  #close: () => void = () => {};

  constructor(
    private readonly args: readonly string[],
    private readonly options: AgentOptions,
  ) {
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  start(sink: EventSink): void {
    this.#sink = sink;
    this.#spawn().catch((error: unknown) => this.#end({ error }));
  }

  async #spawn(): Promise<void> {
    const binary = this.options.binary ?? findBinary();
    await checkBinary(binary);
    if (this.#isStopped) return this.#end();
    const { cwd, env } = this.options;
    const child = spawn(binary, this.args, {
      stdio: ["pipe", "pipe", "pipe"],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
    this.#child = child;
    endWithThisProcess(child);
    child.stdin.on("error", () => {}); // `lapidary` may have exited already: `run_end` has the cause
    child.stdout.on("error", () => {});
    child.on("error", (error) => this.#fail(startError(binary, error, cwd)));
    child.on("close", (code, signal) => this.#exited(code, signal));
    const splitter = new LineSplitter(this.options.maxLineBytes ?? LONGEST_LINE);
    child.stdout.on("data", (bytes: Buffer) => this.#read(() => splitter.push(bytes)));
    child.stdout.on("end", () => this.#read(() => splitter.end()));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
      this.options.onStderr?.(text);
    });
    for (const text of this.#input.splice(0)) child.stdin.write(text);
    if (this.#isFinished) child.stdin.end();
  }

  #read(lines: () => Iterable<string>): void {
    if (this.#failure !== undefined) return;
    try {
      for (const line of lines()) this.#readLine(line);
    } catch (error) {
      this.#fail(error);
    }
  }

  #readLine(line: string): void {
    let event: AgentEvent;
    try {
      event = JSON.parse(line) as AgentEvent;
    } catch {
      throw new LapidaryError("ended_early", `\`lapidary\` printed a line that is not JSON: ${line.slice(0, 200)}`);
    }
    if (event.event === "run_end") this.#hasEnded = true;
    this.#sink?.event(event);
  }

  /** Ends the process because of an error of ours. The reader gets the error once the process is gone. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    if (this.#child?.pid === undefined) this.#end(this.#failure);
    else void this.stop();
  }

  #exited(code: number | null, signal: string | null): void {
    if (this.#failure !== undefined || this.#hasEnded || this.#isStopped) return this.#end(this.#failure);
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    const words = this.#stderr.trim();
    const error = new LapidaryError("ended_early", `\`lapidary\` ended ${how} before its \`run_end\`${words === "" ? "" : `:\n${words}`}`);
    this.#end({ error });
  }

  #end(failure?: { error: unknown }): void {
    clearTimeout(this.#killer);
    if (this.#child !== undefined) living.delete(this.#child);
    this.#sink?.end(failure);
    this.#sink = undefined;
    this.#close();
  }

  async send(command: Command): Promise<undefined> {
    this.write(`${JSON.stringify(command)}\n`);
  }

  /** Writes to stdin. */
  write(text: string): void {
    if (this.#child === undefined) this.#input.push(text);
    else if (this.#child.stdin.writable) this.#child.stdin.write(text);
  }

  finish(): void {
    this.#isFinished = true;
    this.#child?.stdin.end();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null && this.#killer === undefined) {
      child.stdout.resume();
      child.kill("SIGTERM");
      this.#killer = setTimeout(() => child.kill("SIGKILL"), STOP_MILLISECONDS);
    }
    await this.closed;
  }

  flow(isOpen: boolean): void {
    if (isOpen) this.#child?.stdout.resume();
    else this.#child?.stdout.pause();
  }
}
