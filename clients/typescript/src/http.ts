// A run of `lapidary serve`. Its events are server-sent events, which a connection that was cut goes on reading behind the last one.
import type { IncomingMessage } from "node:http";
import { LapidaryError } from "./errors.js";
import { LineSplitter } from "./lines.js";
import type { AgentOptions, RunOptions, ServerOptions } from "./options.js";
import { Server } from "./server.js";
import type { EventSink, Transport } from "./transport.js";
import type { AgentEvent, Command, CommandResult, RunResult } from "./types.js";

const LONGEST_LINE = 256 * 1024 * 1024;
/** The server sends a heartbeat every ten seconds. A connection that is silent for longer than this is dead. */
const SILENCE_MILLISECONDS = 30_000;
/** How often a connection is opened again without an event in between, and the pause before the first time. It doubles. */
const MOST_ATTEMPTS = 5;
const FIRST_PAUSE_MILLISECONDS = 100;

/** Options that only a process of ours has. */
const CHILD_ONLY = ["allow", "args", "binary", "env", "model", "onStderr", "outputSchema", "raw", "resume", "trustWorkspace"] as const;

/** The result of a run that is over. */
export async function fetchResult(server: string | ServerOptions, id: string): Promise<RunResult> {
  return (await new Server(server).call("GET", `${runPath(id)}/events?format=result`)) as RunResult;
}

export class HttpTransport implements Transport {
  #sink: EventSink | undefined;
  #response: IncomingMessage | undefined;
  #last: number | undefined;
  #isStopped = false;
  #attempts = 0;
  #id: Promise<string>;
  readonly #server: Server;
  readonly #closed: Promise<void>;
  #close: () => void = () => {};

  private constructor(
    server: Server,
    private readonly options: AgentOptions,
    begin: (server: Server) => Promise<string>,
    private readonly endsRun: boolean,
    after?: number,
  ) {
    this.#server = server;
    this.#last = after;
    this.#closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.#id = begin(server);
    this.#id.catch(() => {}); // `start` reports it
  }

  /** A new run. */
  static forRun(options: RunOptions, server: string | ServerOptions): HttpTransport {
    const wrong = CHILD_ONLY.find((name) => options[name] !== undefined);
    if (wrong !== undefined) {
      throw new LapidaryError("unsupported_option", `\`${wrong}\` does not work with \`server\``, "the options of `lapidary serve` have the bounds of its runs");
    }
    const { prompt, agent, cwd, permissionMode, deny = [], ask = [], timeout, budget, requestKey } = options;
    const body = { prompt, agent, cwd, permissionMode, rules: { deny, ask }, timeout, budget, requestKey };
    const begin = async (server: Server): Promise<string> =>
      ((await server.call("POST", "/api/v1/runs", body)) as { id: string }).id;
    return new HttpTransport(new Server(server), options, begin, true);
  }

  /** A run that is there already. */
  static forWatch(id: string, options: AgentOptions, server: string | ServerOptions, after?: number): HttpTransport {
    return new HttpTransport(new Server(server), options, () => Promise.resolve(id), false, after);
  }

  start(sink: EventSink): void {
    this.#sink = sink;
    this.#follow().then(() => this.#end(), (error: unknown) => this.#end({ error }));
  }

  #end(failure?: { error: unknown }): void {
    this.#sink?.end(this.#isStopped && !(failure?.error instanceof LapidaryError) ? undefined : failure);
    this.#sink = undefined;
    this.#close();
  }

  async #follow(): Promise<void> {
    const id = await this.#id;
    while (!this.#isStopped || this.endsRun) {
      try {
        const after = this.#last === undefined ? "" : `?after=${this.#last}`;
        const response = await this.#server.open("GET", `${runPath(id)}/events${after}`, { accept: "text/event-stream" });
        if (response.statusCode !== 200) await this.#server.read(response);
        if (await this.#readEvents(response)) return;
      } catch (error) {
        if (error instanceof LapidaryError) throw error;
        if (this.#attempts >= MOST_ATTEMPTS) throw this.#gone(id, error as Error);
      }
      if (this.#isStopped && !this.endsRun) return;
      if (this.#attempts >= MOST_ATTEMPTS) throw this.#gone(id, new Error("the connection was closed"));
      await pause(FIRST_PAUSE_MILLISECONDS * 2 ** this.#attempts++);
    }
  }

  #gone(id: string, error: Error): LapidaryError {
    const last = this.#last === undefined ? "" : `; the last event of run \`${id}\` is ${this.#last}`;
    return this.#server.gone(error, last);
  }

  /** True after the `run_end`. */
  async #readEvents(response: IncomingMessage): Promise<boolean> {
    this.#response = response;
    response.setTimeout(SILENCE_MILLISECONDS, () => response.destroy(new Error("no sign of life from the server")));
    const splitter = new LineSplitter(this.options.maxLineBytes ?? LONGEST_LINE);
    for await (const bytes of response as AsyncIterable<Buffer>) {
      for (const line of splitter.push(bytes)) {
        // Events are one `data` line each. Heartbeats have no `seq`.
        if (!line.startsWith("data: ")) continue;
        const event = JSON.parse(line.slice("data: ".length)) as AgentEvent;
        if (event.seq === undefined) continue;
        this.#last = event.seq;
        this.#attempts = 0;
        this.#sink?.event(event);
        if (event.event === "run_end") return true;
      }
    }
    return false;
  }

  async send(command: Command): Promise<CommandResult | undefined> {
    const id = await this.#id;
    try {
      if (command.command === "permission_response") {
        const { command: _, id: __, requestId, ...answer } = command;
        await this.#server.call("POST", `${runPath(id)}/permissions/${encodeURIComponent(requestId)}`, answer);
        return undefined;
      }
      return (await this.#server.call("POST", `${runPath(id)}/commands`, command)) as CommandResult;
    } catch (error) {
      // Another client has answered, or the agent waits no longer.
      if (error instanceof LapidaryError && (error.status === 409 || error.status === 410) && command.command.endsWith("_response")) return undefined;
      throw error;
    }
  }

  finish(): void {}

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.endsRun) {
      const id = await this.#id.catch(() => undefined);
      const stopped = id === undefined ? undefined : this.#server.call("POST", `${runPath(id)}/stop`, {});
      await stopped?.catch(() => this.#response?.destroy()); // it is over, or the server is
    } else {
      this.#response?.destroy();
    }
    await this.#closed;
  }

  flow(isOpen: boolean): void {
    if (isOpen) this.#response?.resume();
    else this.#response?.pause();
  }
}

function runPath(id: string): string {
  return `/api/v1/runs/${encodeURIComponent(id)}`;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
