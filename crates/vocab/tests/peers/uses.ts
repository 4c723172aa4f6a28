// How a front end uses the types. `cargo xtask test` has the real compiler check this file: it is never run.

import type { AgentEvent, Command, ContentBlock, Message, RuntimeEvent, RunResult } from "lapidary";

/** Every kind of event, each with a field that no other kind needs to have. */
export function describe(event: AgentEvent): unknown {
  switch (event.event) {
    case "session_init": return event.model;
    case "config_options": return event.configOptions.length;
    case "available_commands": return event.availableCommands.length;
    case "session_mode": return event.currentModeId;
    case "session_status": return event.status;
    case "text": return event.text.trim();
    case "user_input": return event.isSynthetic ?? false;
    case "tool_invocation": return event.toolName;
    case "tool_completion": return event.content?.map(blockText);
    case "subagent_spawn": return event.agentType;
    case "subagent_complete": return event.summary;
    case "turn_complete": return event.modelUsage?.["gemini-2.5-flash"]?.inputTokens;
    case "context_compaction": return event.trigger;
    case "permission_request": return event.requestId;
    case "stream_delta": return event.textDelta;
    case "usage_update": return event.stepUsage;
    case "rate_limit_update": return event.planType;
    case "run_end": return event.cause;
    case "diagnostic": return event.count;
    case "hook_run": return event.timedOut;
    case "permission_decision": return event.decidedBy;
    case "command_result": return event.commandId;
    case "elicitation_request": return event.requestId;
    case "elicitation_result": return event.action;
    default: return known(event);
  }
}

function blockText(block: ContentBlock): unknown {
  switch (block.type) {
    case "text": return block.text;
    case "thinking": return block.signature;
    case "tool_use": return block.input;
    case "tool_result": return block.tool_use_id;
    case "image": return block.mimeType;
    case "audio": return block.data;
    case "resource": return block.contents;
    case "resource_link": return block.uri;
    case "diff": return block.newText;
    case "terminal": return block.terminalId;
    default: return known(block);
  }
}

export function messageText(message: Message): string {
  if (typeof message.content === "string") return message.content;
  const texts = message.content.map((block) => {
    switch (block.type) {
      case "text": return block.text;
      case "thinking": return block.thinking;
      case "tool_use": return block.name;
      case "tool_result": return String(block.content);
      case "slash_command": return block.command;
      case "image": return block.source.media_type;
      default: return known(block);
    }
  });
  return texts.join("");
}

export function follow(event: RuntimeEvent): unknown {
  switch (event.event) {
    case "output_produced": return event.stream;
    case "tool_call_requested": return event.arguments;
    case "turn_diff_updated": return event.diff;
    case "token_usage_updated": return event.totalTokens;
    case "turn_completed": return event.durationMs;
    case "turn_failed": return event.error.message;
    case "task_status": return event.statusType;
    default: return known(event);
  }
}

export function name(command: Command): string {
  switch (command.command) {
    case "send_message": case "steer": return command.text;
    case "permission_response": case "elicitation_response": return command.requestId;
    case "interrupt": case "kill": return command.sessionId ?? "";
    case "set_model": return command.model;
    case "set_permission_mode": return command.mode;
    case "set_config_option": return command.configId;
    case "set_reasoning_effort": return command.effort;
    case "create_session": return command.cwd;
    case "load_session": case "resume_session": case "close_session": case "delete_session": return command.sessionId;
    case "list_sessions": return command.cursor ?? "";
    case "set_mode": return command.modeId;
    case "authenticate": return command.methodId;
    default: return known(command);
  }
}

export const written = (result: RunResult): string[] => Object.keys(result.files);

/** Compiles only if nothing is left over. At run time a newer version's kind ends up here. */
function known(rest: never): never {
  throw new Error(`unknown: ${JSON.stringify(rest)}`);
}

/** Narrowing is real, words are open, and what is wrong is refused. */
export function limits(event: AgentEvent): void {
  if (event.event === "run_end") {
    const cause: string = event.cause;
    const newer: typeof event.cause = "a_word_of_a_newer_version";
    console.log(cause, newer, event.seq, event.provider);
    // @ts-expect-error a run's end has no text
    console.log(event.text);
  }
  // @ts-expect-error no such kind
  if (event.event === "no_such_kind") return;
  // @ts-expect-error not every event has one
  console.log(event.callId);
  // @ts-expect-error free JSON has to be looked at before it is used
  console.log(event.raw.type);
  // @ts-expect-error `text` is missing
  const incomplete: Command = { command: "send_message" };
  console.log(incomplete);
}
