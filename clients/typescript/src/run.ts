// A run: its events for a loop, its requests for callbacks, its commands.
import { LapidaryError } from "./errors.js";
import type { AgentOptions, PermissionAnswer } from "./options.js";
import { EventQueue } from "./queue.js";
import type { Transport } from "./transport.js";
import type { AgentEvent, Command, CommandResult, ElicitationRequest, PermissionRequest, RunEnd } from "./types.js";

/** The version of the events that this client reads. */
const EVENTS = "lapidary.events/1";
const NO_CALLBACK = "the client answers no permission requests";
/** How long a rule may take to decide a request before the callback is asked. Its answer would have no effect. */
const RULE_MILLISECONDS = 50;

interface PendingCommand {
  resolve: (result: CommandResult) => void;
  reject: (error: unknown) => void;
}

/** What a client may do with a run: read it; read it and send commands; lead it, and so answer every request. */
export type RunRole = "reader" | "watcher" | "leader";

/** A run of an agent. A loop over it gets the events; leaving the loop ends the run. */
export class AgentRun implements AsyncIterable<AgentEvent>, AsyncDisposable {
  readonly #queue: EventQueue<AgentEvent>;
  readonly #requests = new Map<string, AbortController>();
  readonly #pending = new Map<string, PendingCommand>();
  #nextCommand = 0;
  #id: string | undefined;
  #end: RunEnd | undefined;
  #isOver = false;
  #callbackFailure: { error: unknown } | undefined;
  #unlisten: () => void = () => {};

  /** @internal */
  constructor(
    protected readonly transport: Transport,
    private readonly options: AgentOptions,
    private readonly role: RunRole,
  ) {
    // A command waits for its result, which may stand behind events that no loop has read yet.
    this.#queue = new EventQueue((isOpen) => {
      if (isOpen || this.#pending.size === 0) transport.flow(isOpen);
    });
    this.#listen(options.signal);
    transport.start({ event: (event) => this.#take(event), end: (failure) => this.#ended(failure) });
  }

  /** The id of the run and of its recording, once the first event is read. */
  get id(): string | undefined {
    return this.#id;
  }

  /** The `run_end`, once it is read. */
  get end(): RunEnd | undefined {
    return this.#end;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void, undefined> {
    try {
      for (let event = await this.next(); event !== undefined; event = await this.next()) yield event;
    } finally {
      await this.stop(); // at the end of the run there is nothing to stop
    }
  }

  /** Reads the events that are left, and gives the `run_end`. */
  async finished(): Promise<RunEnd> {
    for await (const _ of this);
    if (this.#end !== undefined) return this.#end;
    throw new LapidaryError("ended_early", "the run was stopped before its `run_end` was read");
  }

  /** Ends the run and every process of its agent. */
  async stop(): Promise<void> {
    if (!this.#isOver) await this.transport.stop();
  }

  /** For `await using`: ends the run. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Sends a command of `connect`, and gives its result; an error if the command fails. */
  async command(command: Command): Promise<CommandResult> {
    if (this.role === "reader") {
      throw new LapidaryError("unsupported_option", "this run takes no commands", "start it with `connect`, or with `onPermission`");
    }
    const result = await this.#send(command);
    if (result.isError === true) {
      throw new LapidaryError("command_failed", `\`${command.command}\` failed: ${result.message ?? "no reason was given"}`);
    }
    return result;
  }

  /** Ends the turn. */
  async interrupt(): Promise<void> {
    await this.command({ command: "interrupt" });
  }

  /** @internal The next event; none at the end. */
  protected next(): Promise<AgentEvent | undefined> {
    return this.#queue.next();
  }

  /** @internal Whether a command waits for its result. */
  protected get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  /** @internal */
  protected newCommandId(): string {
    return `client-${this.#nextCommand++}`;
  }

  #send(command: Command): Promise<CommandResult> {
    const id = typeof command.id === "string" ? command.id : this.newCommandId();
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(overError(this.#end, command));
      this.#pending.set(id, { resolve, reject });
      this.transport.flow(true);
      this.transport.send({ ...command, id }).then(
        (result) => result !== undefined && this.#settle(id, (pending) => pending.resolve(result)),
        (error: unknown) => this.#settle(id, (pending) => pending.reject(error)),
      );
    });
  }

  #settle(id: unknown, how: (pending: PendingCommand) => void): void {
    if (typeof id !== "string") return;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (pending !== undefined) how(pending);
  }

  #take(event: AgentEvent): void {
    if (event.schema !== undefined && event.schema !== EVENTS) {
      throw new LapidaryError("version_mismatch", `the events are \`${event.schema}\`; this client reads \`${EVENTS}\``, "install the client of that version");
    }
    this.#id ??= event.id.slice(0, event.id.lastIndexOf("-"));
    switch (event.event) {
      case "permission_request":
        this.#ask(event.requestId, this.options.onPermission !== undefined, (signal) => this.#permit(event, signal));
        break;
      case "elicitation_request":
        this.#ask(event.requestId, this.options.onElicitation !== undefined, (signal) => this.#fillIn(event, signal));
        break;
      case "permission_decision":
      case "elicitation_result":
        this.#requests.get(event.requestId)?.abort();
        this.#requests.delete(event.requestId);
        break;
      case "command_result":
        this.#settle(event.commandId, (pending) => pending.resolve(event));
        break;
      case "run_end":
        this.#end = event;
        break;
      default:
    }
    this.#queue.push(event);
  }

  /** Answers a request of the agent, unless a rule has decided it at once. Without a callback only the client that leads the run does. */
  #ask(request: string, hasCallback: boolean, answer: (signal: AbortSignal) => Promise<Command>): void {
    if (this.role === "reader" || (this.role === "watcher" && !hasCallback)) return;
    const controller = new AbortController();
    this.#requests.set(request, controller);
    const { signal } = controller;
    setTimeout(async () => {
      if (signal.aborted) return;
      let command: Command;
      try {
        command = await answer(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#callbackFailure ??= { error };
        await this.stop();
        return;
      }
      // The request may be decided elsewhere by now. Then the answer has no effect, and its `command_result` says so.
      if (!signal.aborted && !this.#isOver) await this.#send(command).catch(() => {});
    }, RULE_MILLISECONDS);
  }

  async #permit(request: PermissionRequest, signal: AbortSignal): Promise<Command> {
    const callback = this.options.onPermission ?? ((): PermissionAnswer => ({ allowed: false, message: NO_CALLBACK }));
    const answer = await callback(request, signal);
    // Without this check a callback that forgets its `return` would hold up the agent.
    if (typeof answer !== "boolean" && typeof (answer as { allowed?: unknown } | undefined)?.allowed !== "boolean") {
      throw new TypeError(`\`onPermission\` returned ${String(answer)}: a boolean, or an object with \`allowed\`, is an answer`);
    }
    const fields = typeof answer === "boolean" ? { allowed: answer } : answer;
    return { command: "permission_response", requestId: request.requestId, ...fields };
  }

  async #fillIn(request: ElicitationRequest, signal: AbortSignal): Promise<Command> {
    const answer = (await this.options.onElicitation?.(request, signal)) ?? { action: "decline" };
    return { command: "elicitation_response", requestId: request.requestId, ...answer };
  }

  #ended(failure?: { error: unknown }): void {
    this.#isOver = true;
    this.#unlisten();
    for (const controller of this.#requests.values()) controller.abort();
    for (const { reject } of this.#pending.values()) reject(overError(this.#end));
    this.#pending.clear();
    const { signal } = this.options;
    const aborted = signal?.aborted === true ? { error: signal.reason as unknown } : undefined;
    this.#queue.end(this.#callbackFailure ?? failure ?? aborted);
  }

  #listen(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const stop = (): void => void this.stop();
    if (signal.aborted) queueMicrotask(stop);
    signal.addEventListener("abort", stop);
    this.#unlisten = () => signal.removeEventListener("abort", stop);
  }
}

/** Why a command has no result: the run has ended, for the reason of its `run_end`. */
function overError(end?: RunEnd, command?: Command): LapidaryError {
  const name = command === undefined ? "a command" : `\`${command.command}\``;
  const reason = end?.message === undefined ? "" : `: ${end.message}`;
  return new LapidaryError("command_failed", `${name} failed: the run has ended${reason}`, end?.hint);
}
