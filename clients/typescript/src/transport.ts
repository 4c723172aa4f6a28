// What a run needs of its transport.
import type { AgentEvent, Command, CommandResult } from "./types.js";

/** Gets what a transport reads. */
export interface EventSink {
  event(event: AgentEvent): void;
  /** The last call: after `run_end`, or because of an error. */
  end(failure?: { error: unknown }): void;
}

/** Brings the events of one run, and takes its commands. */
export interface Transport {
  /** Begins to read. Called once. */
  start(sink: EventSink): void;
  /** Sends a command. Over HTTP the result comes back, too. */
  send(command: Command): Promise<CommandResult | undefined>;
  /** Takes no more commands: the run ends when its work is done. */
  finish(): void;
  /** Ends the run. Resolves when it is over. */
  stop(): Promise<void>;
  /** Reads on, or pauses. */
  flow(isOpen: boolean): void;
}
