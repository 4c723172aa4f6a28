// A conversation with an agent: one prompt after the other, in one session or several.
import { LapidaryError } from "./errors.js";
import { checkPrompt } from "./options.js";
import { AgentRun } from "./run.js";
import type { AgentEvent, CommandResult, RunEnd, SendMessage } from "./types.js";

/** A turn that is over. */
export interface Turn {
  /** The agent's text in this turn. */
  text: string;
  /** The `command_result` of the prompt: `result` has the stop reason, `answer` the data if there was a schema. */
  result: CommandResult;
}

/** Fields of `send_message` beside its text. */
export type PromptOptions = Pick<SendMessage, "sessionId" | "content" | "outputSchema" | "schemaRepairs">;

/** An agent that is kept. `close` ends it. */
export class Connection extends AgentRun {
  #hasTurn = false;

  /** Sends a prompt. The loop gets the events until its turn is over; leaving the loop interrupts the turn. */
  async *prompt(text: string, options: PromptOptions = {}): AsyncGenerator<AgentEvent, CommandResult, undefined> {
    checkPrompt(text);
    if (this.#hasTurn) {
      throw new LapidaryError(
        "command_failed",
        "another turn of this connection is not over",
        "await it, or leave its loop; two turns at a time need two connections",
      );
    }
    this.#hasTurn = true;
    const id = this.newCommandId();
    const outcome = this.command({ ...options, command: "send_message", id, text });
    outcome.catch(() => {}); // read below
    let isOver = false;
    try {
      for (;;) {
        const event = await this.next();
        if (event === undefined) {
          isOver = true;
          break;
        }
        isOver = event.event === "command_result" && event.commandId === id;
        yield event;
        if (isOver) break;
      }
      return await outcome;
    } finally {
      if (!isOver) await this.#leaveTurn(id).catch(() => {}); // the agent may have ended by itself
      this.#hasTurn = false;
    }
  }

  /** Ends a turn, and passes over the rest of its events: they are not the next turn's. */
  async #leaveTurn(id: string): Promise<void> {
    await this.interrupt();
    for (let event = await this.next(); event !== undefined; event = await this.next()) {
      if (event.event === "command_result" && event.commandId === id) return;
    }
  }

  /** Sends a prompt, and gives its turn. */
  async send(text: string, options: PromptOptions = {}): Promise<Turn> {
    const events = this.prompt(text, options);
    let answer = "";
    for (;;) {
      const step = await events.next();
      if (step.done === true) return { text: answer, result: step.value };
      const event = step.value;
      if (event.extensions?.["acp.replay"] !== undefined) continue; // the history of a loaded session
      if (event.event === "stream_delta" && event.kind === "text") answer += event.textDelta ?? "";
      else if (event.event === "text" && event.kind === "text") answer += event.text;
    }
  }

  /** For `await using`: closes the agent, or stops it in the middle of a turn. */
  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.isBusy) await this.stop();
    else if (this.end === undefined) await this.close();
  }

  /** Ends the agent when its work is done, and gives the `run_end`. */
  async close(): Promise<RunEnd> {
    this.transport.finish();
    if (this.end !== undefined) return this.end;
    for (let event = await this.next(); event !== undefined; event = await this.next());
    if (this.end !== undefined) return this.end;
    throw new LapidaryError("ended_early", "the connection was stopped before its `run_end` was read");
  }
}
