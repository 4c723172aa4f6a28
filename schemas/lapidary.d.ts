// What Lapidary prints and reads, as TypeScript types. Made from the JSON Schemas by `cargo xtask schemas`.
//
// Unions list the kinds that this version knows. A newer version may add kinds, words and fields: keep a default branch.

/** What every `AgentEvent` carries. */
export interface AgentEventBase {
  /** The vocabulary and its version, `lapidary.events/1`, on the first event of a stream. Derived. */
  schema?: string;
  /** `<run>-<seq>`: unique where run ids are. Derived. */
  id: string;
  /** Position in the run, from 0 without gaps. Derived. */
  seq: number;
  /** RFC 3339, UTC: the agent's own, else when the line was received, else the last one seen in the file. Upstream or derived. */
  timestamp?: string;
  /** The agent's family. Derived from the started program or the file. */
  provider: Provider;
  /** The agent's session, once it is known. Upstream. */
  sessionId?: string;
  /** What only this provider has, under dotted keys such as `gemini.severity`. Upstream. */
  extensions?: Record<string, unknown>;
  /** True if `raw` is a string because the line was not JSON. Derived. */
  rawIsText?: boolean;
  /** The line's bytes in Base64, if they were not UTF-8. Upstream. */
  rawBase64?: string;
  /** The agent's line, token for token, on the first event that a line yields. Upstream. */
  raw?: unknown;
}

/** One event: what happened, and where it stands in its run. */
export type AgentEvent =
  | SessionInit
  | ConfigOptions
  | AvailableCommands
  | SessionMode
  | SessionStatus
  | AgentText
  | UserInput
  | ToolInvocation
  | ToolCompletion
  | SubagentSpawn
  | SubagentComplete
  | TurnComplete
  | ContextCompaction
  | PermissionRequest
  | StreamDelta
  | UsageUpdate
  | RateLimitUpdate
  | RunEnd
  | Diagnostic
  | HookRun
  | PermissionDecision
  | CommandResult
  | ElicitationRequest
  | ElicitationResult;

/** A session has begun, or a recorded one begins here. */
export interface SessionInit extends AgentEventBase {
  event: "session_init";
  /** The model that was asked for; `auto` where the agent chooses. Upstream. */
  model?: string;
  /** How hard the model is asked to think. Upstream. */
  reasoningEffort?: string;
  /** The agent's working directory. Upstream over ACP; derived for Gemini CLI's stream-json, from where it was started. */
  cwd?: string;
  /** Names of the tools the model may call. Upstream. */
  availableTools?: string[];
  /** MCP servers: `name`, `status`, `serverInfo`. Upstream; over ACP the names of the servers that the client passed. */
  mcpServers?: unknown[];
  /** The permission mode in force. Upstream; `plan` of Gemini's stream is derived from how the CLI was started. */
  permissionMode?: string;
  /** The account: `email`, `organization`, `subscriptionType`, `tokenSource`, `apiKeySource`. Upstream. */
  account?: unknown;
  /** Slash commands: `name`, `description`, `argumentHint`. Upstream. */
  slashCommands?: unknown[];
  /** Models to choose from: `value`, `displayName`, `description`. Upstream. */
  availableModels?: unknown[];
}

/** The options a session can be configured with. */
export interface ConfigOptions extends AgentEventBase {
  event: "config_options";
  /** The options, as the agent describes them. Upstream. */
  configOptions: unknown[];
}

/** The commands a user can give. */
export interface AvailableCommands extends AgentEventBase {
  event: "available_commands";
  /** The commands, as the agent describes them. Upstream. */
  availableCommands: unknown[];
}

/** The mode a session is in. */
export interface SessionMode extends AgentEventBase {
  event: "session_mode";
  /** The current mode's id. Upstream. */
  currentModeId: string;
  /** The modes to choose from, as the agent describes them. Upstream. */
  availableModes: unknown[];
}

/**
 * The state a session reports. Open: readers must accept words that are not listed here.
 * 
 * - `compacting`: It shortens its history.
 * - `resuming`: It continues an earlier session.
 * - `interrupted`: It was interrupted.
 * - `ended`: It is over.
 * - `error`: It reports an error or a warning.
 */
export type SessionState = "compacting" | "resuming" | "interrupted" | "ended" | "error" | (string & {});

/** A state of the session as a whole: an error, a warning, a change. */
export interface SessionStatus extends AgentEventBase {
  event: "session_status";
  /** The kind of status. Derived: every `error` line of Gemini is `error`; its severity is in `extensions["gemini.severity"]`. */
  status: SessionState;
  /** In the agent's words. Upstream. */
  message?: string;
}

/**
 * What sort of text. Open: readers must accept words that are not listed here.
 * 
 * - `text`: An answer.
 * - `thinking`: Reasoning.
 * - `plan`: A plan.
 * - `error`: An error.
 */
export type TextKind = "text" | "thinking" | "plan" | "error" | (string & {});

/** A whole piece of text. */
export interface AgentText extends AgentEventBase {
  event: "text";
  /** The text. Upstream; with `--deltas final` or `both` joined from its chunks. */
  text: string;
  /** What sort of text. Derived from where it stood. */
  kind: TextKind;
  /** The call of a sub-agent that this belongs to. Upstream. */
  parentCallId?: string;
  /** The model that wrote it. Upstream. */
  model?: string;
}

/** The user's prompt. */
export interface UserInput extends AgentEventBase {
  event: "user_input";
  /** The prompt as the agent took it. Upstream. */
  text: string;
  /** Pictures: `mediaType` and `data`. Upstream. */
  images?: unknown[];
  /** True if no person said it: context that the agent added, tool results sent back, history replayed. Derived. */
  isSynthetic?: boolean;
}

/**
 * What sort of tool. Open: readers must accept words that are not listed here.
 * 
 * - `execute`: Runs a command.
 * - `read`: Reads a file.
 * - `edit`: Changes or creates a file.
 * - `delete`: Deletes a file.
 * - `move`: Moves a file.
 * - `search`: Looks for files or text.
 * - `fetch`: Fetches a page.
 * - `browse`: Searches the web.
 * - `think`: Plans, delegates, keeps notes for itself.
 * - `ask`: Asks the user.
 * - `memory`: Writes to the agent's memory.
 * - `mcp`: Belongs to an MCP server.
 * - `other`: None of these.
 */
export type ToolKind =
  | "execute"
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "fetch"
  | "browse"
  | "think"
  | "ask"
  | "memory"
  | "mcp"
  | "other"
  | (string & {});

/** The agent calls a tool. */
export interface ToolInvocation extends AgentEventBase {
  event: "tool_invocation";
  /** The call's id; the completion carries the same. Upstream. */
  callId: string;
  /** The tool's name. Upstream. */
  toolName: string;
  /**
   * What sort of tool. Derived from its name by an exact table, or the agent's own word over ACP: where that is missing,
   * `extensions["lapidary.derived"]` names this field.
   */
  kind: ToolKind;
  /** The call's arguments: an object, empty if the agent sent none. Upstream. */
  input: unknown;
  /** The call of a sub-agent that this belongs to. Upstream. */
  parentCallId?: string;
  /** A title for people. Upstream. */
  title?: string;
  /** Files and folders it concerns. Derived from the arguments, or the agent's own over ACP. */
  locations?: string[];
  /** The model that called it. Upstream. */
  model?: string;
}

/**
 * How a call of a tool ended. Open: readers must accept words that are not listed here.
 * 
 * - `completed`: It was done.
 * - `failed`: It failed.
 * - `cancelled`: The call was stopped.
 */
export type ToolCallStatus = "completed" | "failed" | "cancelled" | (string & {});

/** One part of a tool's content; `type` is the discriminator. */
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | ImageBlock
  | AudioBlock
  | ResourceBlock
  | ResourceLinkBlock
  | DiffBlock
  | TerminalBlock;

/** Plain text. */
export interface TextBlock {
  type: "text";
  /** The text. Upstream. */
  text: string;
}

/** The model's reasoning. */
export interface ThinkingBlock {
  type: "thinking";
  /** The thought. Upstream. */
  thinking: string;
  /** The provider's signature over it. Upstream. */
  signature?: string;
}

/** A call of a tool. */
export interface ToolUseBlock {
  type: "tool_use";
  /** The call's id. Upstream. */
  id: string;
  /** The tool's name. Upstream in events; in messages derived: Claude's name where there is one. */
  name: string;
  /** The call's arguments. Upstream in events; in messages derived: Claude's argument names where they differ. */
  input: unknown;
}

/** The result of a call. */
export interface ToolResultBlock {
  type: "tool_result";
  /** The id of the call this answers. Upstream. */
  tool_use_id: string;
  /** The tool's result. Upstream. */
  content?: unknown;
  /** True if the call failed or was cancelled. Derived from the call's status. */
  is_error?: boolean;
}

/** A picture. */
export interface ImageBlock {
  type: "image";
  /** Anthropic's form: `type`, `media_type` and `data` or `url`. Upstream. */
  source?: unknown;
  /** ACP's form: the picture in Base64. Upstream. */
  data?: string;
  /** ACP's form: its media type. Upstream. */
  mimeType?: string;
  /** ACP's form: where it lies. Upstream. */
  uri?: string;
}

/** Sound. */
export interface AudioBlock {
  type: "audio";
  /** The sound in Base64. Upstream. */
  data?: string;
  /** Its media type. Upstream. */
  mimeType?: string;
  /** Where it lies. Upstream. */
  uri?: string;
}

/** An embedded resource, in ACP's nested or the flat form, whichever it came in. */
export interface ResourceBlock {
  type: "resource";
  /** ACP's form: `uri` with `text` or `blob`. Upstream. */
  resource?: unknown;
  /** The flat form: where it lies. Upstream. */
  uri?: string;
  /** The flat form: its name. Upstream. */
  name?: string;
  /** The flat form: its title. Upstream. */
  title?: string;
  /** The flat form: its size in bytes. Upstream. */
  size?: number;
  /** The flat form: its contents. Upstream. */
  contents?: unknown;
}

/** A pointer to a resource. */
export interface ResourceLinkBlock {
  type: "resource_link";
  /** Where it lies. Upstream. */
  uri: string;
  /** Its name. Upstream. */
  name?: string;
  /** Its media type. Upstream. */
  mimeType?: string;
}

/** A change of one file. */
export interface DiffBlock {
  type: "diff";
  /** The file. Upstream. */
  path?: string;
  /** Its text before; absent for a new file. Upstream. */
  oldText?: string;
  /** Its text after. Upstream. */
  newText?: string;
  /** The change as a unified diff, where the agent gave one. Upstream. */
  unified?: string;
}

/** A terminal and its output. */
export interface TerminalBlock {
  type: "terminal";
  /** The terminal's id. Upstream. */
  terminalId?: string;
  /** The terminal's output. Upstream. */
  output?: string;
  /** True if the beginning of the output was cut off. Upstream. */
  truncated?: boolean;
  /** The command's exit code. Upstream. */
  exitCode?: number;
  /** The signal that ended the command. Upstream. */
  signal?: string;
}

/** A call of a tool has ended. */
export interface ToolCompletion extends AgentEventBase {
  event: "tool_completion";
  /** The id of the call. Upstream. */
  callId: string;
  /** The call of the main agent in which a sub-agent made it. Upstream. */
  parentCallId?: string;
  /** How it ended. Derived from the agent's word: `success` is completed (also for calls the user cancelled: Gemini's stream does not tell them apart), `error` is failed. */
  status: ToolCallStatus;
  /** The result: text for display in a stream, the model's view in a session file, which also completes a stream; else the error's message. Upstream. */
  output?: unknown;
  /** True if the agent reported a status other than success. Derived. */
  isError?: boolean;
  /** Structured content. Upstream. */
  content?: ContentBlock[];
  /** Files and folders it concerned. Derived from the arguments of the call, or the agent's own over ACP. */
  locations?: string[];
  /** The command that was run, if the call ran one. Its output is `commandOutput`, else `output`. Derived from the arguments of the call. */
  command?: string;
  /** The command's output, where `output` holds more than that. Derived. */
  commandOutput?: string;
  /** What became of a file, in one line: `replace a.txt: completed`. Derived. */
  mutation?: string;
}

/** A sub-agent starts. */
export interface SubagentSpawn extends AgentEventBase {
  event: "subagent_spawn";
  /** The call that started it. Upstream. */
  callId: string;
  /** What sort of agent. Upstream. */
  agentType?: string;
  /** The sub-agent's task. Upstream. */
  description?: string;
  /** True if it continues an earlier one. Upstream. */
  isResume?: boolean;
  /** The earlier one's id. Upstream. */
  resumeAgentId?: string;
}

/** A sub-agent is done. */
export interface SubagentComplete extends AgentEventBase {
  event: "subagent_complete";
  /** The call that started it. Upstream. */
  callId: string;
  /** Its id. Upstream. */
  agentId?: string;
  /** How it ended. Upstream. */
  status?: string;
  /** The sub-agent's report. Upstream. */
  summary?: string;
}

/** Tokens spent, as the agent counts them. A figure that it does not report is absent, never zero. */
export interface TokenUsage {
  /** Tokens of the prompt, cached ones included. Upstream, or derived as the sum over models. */
  inputTokens?: number;
  /** Tokens of the answer, without thoughts. Upstream, or derived as the sum over models. */
  outputTokens?: number;
  /** Tokens of the prompt that came from a cache. Upstream, or derived as the sum over models. */
  cacheReadTokens?: number;
  /** Tokens written to a cache. Upstream. */
  cacheCreationTokens?: number;
  /** All tokens, thoughts included. Upstream, or derived as the sum over models. */
  totalTokens?: number;
}

/** Tokens spent on one model. */
export interface ModelTokenUsage {
  /** Tokens of the prompt, cached ones included. Upstream. */
  inputTokens?: number;
  /** Tokens of the answer, without thoughts. Upstream. */
  outputTokens?: number;
  /** Tokens of the prompt that came from a cache. Upstream. */
  cacheReadTokens?: number;
  /** Tokens written to a cache. Upstream. */
  cacheCreationTokens?: number;
  /** All tokens, thoughts included. Upstream. */
  totalTokens?: number;
  /** The cost in US dollars. Upstream. */
  costUsd?: number;
  /** The model's context window in tokens. Upstream. */
  contextWindow?: number;
  /** Web searches made. Upstream. */
  webSearchRequests?: number;
}

/** A call that was denied. */
export interface PermissionDenial {
  /** The tool's name, or the method of the protocol, such as `fs/write_text_file`. Upstream. */
  toolName: string;
  /** The id of the call. Upstream. */
  toolUseId?: string;
  /** The arguments of the call; absent if they are unknown, or too long to be repeated. Upstream. */
  toolInput?: unknown;
  /** The call's title for people: the file or command, where the agent names no tool and sends no arguments. Upstream. */
  title?: string;
  /** The rule that denied it, named by where it stands. Derived. */
  rule?: string;
  /** The reason, as the agent got it. Derived, or the agent's own. */
  reason: string;
  /** True if no person could be asked. Derived; over Gemini's stream from a tool that the CLI removes where it cannot ask. */
  unattended: boolean;
}

/** A prompt has been answered, or has failed. */
export interface TurnComplete extends AgentEventBase {
  event: "turn_complete";
  /** True if the agent reported an error. Derived from its status or stop reason. */
  isError?: boolean;
  /** The agent's own word: Gemini's `status`, ACP's stop reason. Upstream. */
  subtype?: string;
  /** What went wrong. Upstream. */
  errors?: string[];
  /** The answer, where the agent repeats it at the end. Upstream. */
  result?: string;
  /** The cost in US dollars. Upstream. */
  costUsd?: number;
  /** How long the turn took, in milliseconds; 0 in Gemini's error results. Upstream. */
  durationMs?: number;
  /** How long the API took, in milliseconds. Upstream, or derived as the sum over models. */
  durationApiMs?: number;
  /** Requests to the model. Upstream. */
  numTurns?: number;
  /** Tokens spent. Upstream. */
  usage?: TokenUsage;
  /** Tokens spent, by model. Upstream. */
  modelUsage?: Record<string, ModelTokenUsage>;
  /** Calls of this turn that were denied, in order. Derived from decisions and from the errors of calls. */
  permissionDenials?: PermissionDenial[];
}

/**
 * What set a compaction off. Open: readers must accept words that are not listed here.
 * 
 * - `auto`: The agent itself.
 * - `manual`: The user.
 * - `cleared`: The history was cleared.
 */
export type CompactionTrigger = "auto" | "manual" | "cleared" | (string & {});

/** The conversation was shortened. */
export interface ContextCompaction extends AgentEventBase {
  event: "context_compaction";
  /** What set it off. Upstream. */
  trigger: CompactionTrigger;
  /** Tokens before. Upstream. */
  preTokens?: number;
  /** The rest of the quota, in words. Upstream. */
  summary?: string;
}

/** An answer that an agent offers to its question. */
export interface PermissionOption {
  /** The option's id, for `permission_response`. Upstream. */
  id: string;
  /** The option in words for people. Upstream. */
  name: string;
  /** The meaning of the option: `allow_once`, `allow_always`, `reject_once`, `reject_always`. Upstream, and open. */
  kind: string;
}

/** The agent asks whether it may. */
export interface PermissionRequest extends AgentEventBase {
  event: "permission_request";
  /** The request's id, for the answer; its `permission_decision` has the same. Upstream. */
  requestId: string;
  /** The tool's name as in its `tool_invocation`, or the method of the protocol, such as `fs/write_text_file`. Upstream. */
  toolName: string;
  /**
   * What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
   * `extensions["lapidary.derived"]` names this field.
   */
  toolKind: ToolKind;
  /**
   * The arguments it would be called with. Upstream; where the agent sends none, derived from the diff or the command that it shows:
   * then `extensions["lapidary.derived"]` names this field.
   */
  toolInput: unknown;
  /** The id of the call. Upstream. */
  toolUseId?: string;
  /** The call's title for people. Upstream. */
  title?: string;
  /** The command line to be approved. Derived from the arguments, or from the title of a call that runs a command and has none. */
  command?: string;
  /** The agent's display of the call: the diffs to be approved, and words. Upstream. */
  content?: ContentBlock[];
  /** The answers that the agent offers. Upstream. */
  options?: PermissionOption[];
  /** Why it asks. Upstream. */
  reason?: string;
  /** The path that was in the way. Upstream. */
  blockedPath?: string;
  /** Rules it suggests: `type`, `toolName`, `directory`, `mode`, `description`. Upstream. */
  suggestions?: unknown[];
}

/**
 * The whole that a delta is a chunk of. Open: readers must accept words that are not listed here.
 * 
 * - `text`: An answer.
 * - `thinking`: Reasoning.
 * - `toolInput`: A tool's arguments.
 * - `messageStart`: A message begins.
 * - `messageStop`: A message is over.
 * - `blockStart`: A block begins.
 * - `blockStop`: A block is over.
 */
export type StreamDeltaKind =
  | "text"
  | "thinking"
  | "toolInput"
  | "messageStart"
  | "messageStop"
  | "blockStart"
  | "blockStop"
  | (string & {});

/** A piece of a message while it is being written. */
export interface StreamDelta extends AgentEventBase {
  event: "stream_delta";
  /** A chunk of what. Derived from where it stood. */
  kind: StreamDeltaKind;
  /** The chunk of text. Upstream. */
  textDelta?: string;
  /** The chunk of a tool's arguments. Upstream. */
  jsonDelta?: string;
  /** Which block of the message it belongs to. Upstream. */
  blockIndex?: number;
  /** The call whose arguments these are. Upstream. */
  callId?: string;
  /** The call of a sub-agent that this belongs to. Upstream. */
  parentCallId?: string;
}

/** Tokens spent on one step. */
export interface UsageUpdate extends AgentEventBase {
  event: "usage_update";
  /** The call of the main agent in which a sub-agent spent them. Upstream. */
  parentCallId?: string;
  /** The model that was used, where the agent names it: in session files. Upstream. */
  model?: string;
  /** The counts, in snake case: `input_tokens`, `output_tokens`, `total_tokens` and what else the agent counts. Upstream. */
  stepUsage: unknown;
}

/** How much of a rate limit is used. */
export interface RateLimitUpdate extends AgentEventBase {
  event: "rate_limit_update";
  /** The main window: `usedPercent`, `windowDurationMins`, `resetsAt`. Upstream. */
  primary?: unknown;
  /** A second window. Upstream. */
  secondary?: unknown;
  /** Credits: `hasCredits`, `unlimited`, `balance`. Upstream. */
  credits?: unknown;
  /** The account's plan. Upstream. */
  planType?: string;
}

/**
 * How a run ended, in one word. Open: readers must accept words that are not listed here.
 * 
 * - `completed`: The agent did its turn and said so.
 * - `refused`: The model or a policy refused.
 * - `cancelled`: The run was stopped.
 * - `failed`: Any other failure: see the cause.
 */
export type Outcome = "completed" | "refused" | "cancelled" | "failed" | (string & {});

/**
 * Why a run ended as it did. Open: readers must accept words that are not listed here.
 * 
 * - `end_turn`: The turn came to its end.
 * - `refusal`: The model refused.
 * - `permission_denied`: A policy denied an action that the run needed.
 * - `cancelled_by_client`: The client cancelled.
 * - `max_turns`: The limit of turns was reached.
 * - `max_tokens`: The limit of tokens was reached.
 * - `loop_detected`: The agent noticed that it went in circles.
 * - `budget`: A budget of ours was used up, or could not be checked.
 * - `schema_mismatch`: The answer does not fit the schema that the caller gave.
 * - `quota_retryable`: The API's rate limit; trying again later helps.
 * - `quota_terminal`: The account's quota is used up.
 * - `agent_crashed`: The agent's process died.
 * - `no_result`: The stream ended without a result.
 * - `empty_response`: The model returned nothing.
 * - `protocol_error`: The agent broke its protocol.
 * - `lease_lost`: The lease on the run ended, as in a fleet whose database was out of reach: another worker may have the ticket.
 * - `timeout_start`: No first line in time.
 * - `timeout_idle`: No line for too long.
 * - `timeout_total`: The run as a whole took too long.
 * - `bad_input`: The input was refused.
 * - `bad_config`: The configuration was refused.
 * - `sandbox`: The sandbox could not be set up.
 * - `untrusted_folder`: The folder is not trusted.
 * - `auth_required`: No account is signed in, or the key is wrong.
 * - `agent_missing`: The agent is not installed.
 * - `spawn_failed`: The agent could not be started.
 * - `api_error`: The model's API failed.
 * - `tool_fatal`: A tool failed so badly that the agent gave up.
 * - `internal`: A fault of ours.
 */
export type Cause =
  | "end_turn"
  | "refusal"
  | "permission_denied"
  | "cancelled_by_client"
  | "max_turns"
  | "max_tokens"
  | "loop_detected"
  | "budget"
  | "schema_mismatch"
  | "quota_retryable"
  | "quota_terminal"
  | "agent_crashed"
  | "no_result"
  | "empty_response"
  | "protocol_error"
  | "lease_lost"
  | "timeout_start"
  | "timeout_idle"
  | "timeout_total"
  | "bad_input"
  | "bad_config"
  | "sandbox"
  | "untrusted_folder"
  | "auth_required"
  | "agent_missing"
  | "spawn_failed"
  | "api_error"
  | "tool_fatal"
  | "internal"
  | (string & {});

/** A call that the agent made without permission: it did not ask, or went on after a denial. Or a protected file that changed. */
export interface PermissionViolation {
  /** The tool's name. Upstream; for a changed file `edit` or `delete`, derived. */
  toolName: string;
  /** The id of the call. Absent for a changed file: no call explains it. Upstream. */
  toolUseId?: string;
  /** The call's title for people. Upstream. */
  title?: string;
  /** The command line of the call, cut after 500 characters. Upstream. */
  command?: string;
  /** The files of the call, the first few of them. Upstream. */
  paths?: string[];
  /** The rule that denies it or requires a question, named by where it stands. Absent if the permission mode does. Derived. */
  rule?: string;
  /** Why it needed permission. Derived. */
  reason: string;
  /** What happened, in one sentence. Derived. */
  message: string;
}

/** An answer, judged by its output schema: `data` if it fits, `violations` if it does not. */
export interface StructuredAnswer {
  /** The data, if it fits. Upstream, token for token. */
  data?: unknown;
  /** How the agent handed it over. Derived. */
  dataSource?: DataSource;
  /** Where the last answer does not fit. Derived. */
  violations?: DataViolation[];
}

/**
 * How the agent handed over data that was asked for by a schema. Open: readers must accept words that are not listed here.
 * 
 * - `flag`: The agent has an option for schemas of its own.
 * - `tool`: Through a tool whose arguments have the schema: one that Lapidary offers, or `complete_task` of our own agents.
 * - `text`: As JSON in its last message.
 */
export type DataSource = "flag" | "tool" | "text" | (string & {});

/** A place where an answer does not fit the schema. */
export interface DataViolation {
  /** A JSON pointer into the answer, empty for the whole answer. Derived. */
  pointer: string;
  /** The violation in words, such as `must be string`. Derived. */
  message: string;
}

/** The run is over: exactly once, last. */
export interface RunEnd extends AgentEventBase {
  event: "run_end";
  /** How it ended. Derived from the exit status *and* the agent's own word. */
  outcome: Outcome;
  /** Why. Derived. */
  cause: Cause;
  /** The exit code of `lapidary run` for this cause; in `translate` and `connect`, the one it would have. Derived. */
  exitCode: number;
  /** The agent's own exit code, if it is known. Upstream. */
  agentExitCode?: number;
  /** The signal that ended the agent. Upstream. */
  signal?: string;
  /** How long the run took, in milliseconds, if it was live. Derived. */
  durationMs?: number;
  /** What went wrong, in the agent's words if it said any. Upstream or derived. */
  message?: string;
  /** What led to this verdict. Derived. */
  evidence?: string[];
  /** The user's next step. Derived. */
  hint?: string;
  /** Circumstances beside the outcome, such as a turn that ended well without a last word. Derived. */
  warnings?: string[];
  /** Calls that the agent made without permission, in order, then protected files that it changed. Derived. */
  violations?: PermissionViolation[];
  /** The answer as its output schema judges it, when one was given. Derived. */
  answer?: StructuredAnswer;
}

/**
 * Subjects of diagnostics. Open: readers must accept words that are not listed here.
 * 
 * - `noise`: Text amid the protocol that is not JSON.
 * - `malformed_line`: A line that should be JSON but is not valid, or not an object.
 * - `line_too_long`: A line longer than the limit: only its beginning was kept.
 * - `unknown_type`: An event type we do not know.
 * - `unknown_field`: A field we do not know. It is in `raw` and in `extensions`.
 * - `invalid_field`: A value that the protocol does not allow, or a required field that is missing.
 * - `duplicate_key`: A key that stands twice: the last was taken.
 * - `protocol_violation`: Lines in an order that makes no sense, such as a result without its call.
 * - `permission_violation`: A call that the agent made without permission.
 * - `retry`: The agent was started again.
 * - `notice`: A decision of ours that makes a difference, such as handing a large prompt over as a file.
 * - `session_records`: Records of a session file that are not in its final state.
 * - `protocol`: A message of the protocol that has no event of its own, such as a handshake. Nothing is wrong with it.
 */
export type DiagnosticKind =
  | "noise"
  | "malformed_line"
  | "line_too_long"
  | "unknown_type"
  | "unknown_field"
  | "invalid_field"
  | "duplicate_key"
  | "protocol_violation"
  | "permission_violation"
  | "retry"
  | "notice"
  | "session_records"
  | "protocol"
  | (string & {});

/** A line that we could not translate, or a fact for integrators of the agent. It carries its line in `raw`. */
export interface Diagnostic extends AgentEventBase {
  event: "diagnostic";
  /** What sort of thing. Derived. */
  kind: DiagnosticKind;
  /** In words. Derived. */
  message: string;
  /** How many times, if it stands for several. Derived. */
  count?: number;
}

/** A hook was run. */
export interface HookRun extends AgentEventBase {
  event: "hook_run";
  /** The event that set it off, such as `BeforeTool`. Upstream. */
  hookEvent: string;
  /** The hook's name or command. Upstream. */
  hook: string;
  /** Its exit code. Upstream. */
  exitCode?: number;
  /** The signal that ended it, such as `SIGKILL`: from another process, or ours if it took too long or the run ended. Upstream. */
  signal?: string;
  /** How long it took, in milliseconds. Derived. */
  durationMs?: number;
  /** The hook's decision. Upstream. */
  decision?: string;
  /** Why. Upstream. */
  reason?: string;
  /** Its message for the user. Upstream. */
  message?: string;
  /** True if it was stopped because it took too long. Derived. */
  timedOut?: boolean;
  /**
   * Why it has no answer, if it should have one: it took too long, was killed, could not be started. Unless there is a `decision`, it
   * has blocked nothing. Derived.
   */
  error?: string;
}

/**
 * What became of a request for permission. Open: readers must accept words that are not listed here.
 * 
 * - `allowed`: The agent may.
 * - `denied`: The agent may not.
 * - `cancelled`: The turn was cancelled before a decision.
 */
export type PermissionOutcome = "allowed" | "denied" | "cancelled" | (string & {});

/**
 * Who decided about a request for permission. Open: readers must accept words that are not listed here.
 * 
 * - `rule`: A rule of the configuration or of a flag.
 * - `mode`: The permission mode.
 * - `hook`: A hook.
 * - `default`: What holds where nothing was said.
 * - `user`: A person at the terminal.
 * - `peer`: The program that is connected.
 */
export type DecidedBy = "rule" | "mode" | "hook" | "default" | "user" | "peer" | (string & {});

/** The answer to a permission request, by a rule, a mode, a hook, a person or a program. Each request of the agent has one. */
export interface PermissionDecision extends AgentEventBase {
  event: "permission_decision";
  /** The request's id, as in its `permission_request` if it has one. Upstream. */
  requestId: string;
  /** The call that it is about. Upstream. */
  toolUseId?: string;
  /** The subject of the request: the tool, or the method of the protocol, such as `fs/write_text_file`. Upstream. */
  toolName: string;
  /**
   * What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
   * `extensions["lapidary.derived"]` names this field.
   */
  toolKind: ToolKind;
  /** The arguments, as in `permission_request`. Upstream or derived, as there. */
  toolInput: unknown;
  /** The call's title for people, as in `permission_request`. Upstream. */
  title?: string;
  /** The command line that was decided about, as in `permission_request`. Derived. */
  command?: string;
  /** The agent's display of the call, as in `permission_request`. Upstream. */
  content?: ContentBlock[];
  /** The answers that the agent offered. Upstream. */
  options?: PermissionOption[];
  /** The decision. Derived from the answer. */
  decision: PermissionOutcome;
  /** Who decided. Derived; absent where a transcript does not tell. */
  decidedBy?: DecidedBy;
  /** The rule that decided, named by where it stands. Derived. */
  rule?: string;
  /** The reason, as the agent got it. Derived. */
  reason?: string;
  /** True if a person would have been asked, but none could be. Derived. */
  unattended?: boolean;
  /**
   * True if the answer holds for the rest of the run: the same action is allowed without a question, by the rule of a later
   * decision. Derived.
   */
  forRun?: boolean;
  /** Which of the options that the agent offered was chosen. Upstream. */
  optionId?: string;
}

/** A command of the front end has been carried out, or could not be. Each command has exactly one. */
export interface CommandResult extends AgentEventBase {
  event: "command_result";
  /** The `id` that the command had, if it had one. Upstream: the front end's. */
  commandId?: unknown;
  /** Which command. Upstream: the front end's. */
  command: string;
  /** True if it could not be carried out. Derived. */
  isError?: boolean;
  /** Why not. Upstream where the agent refused, otherwise derived. */
  message?: string;
  /** The agent's answer, if it gave one. Upstream. */
  result?: unknown;
  /** The answer as its output schema judges it, when one was given. Derived. */
  answer?: StructuredAnswer;
}

/** The agent asks the user to fill in a form, or to open a page. `elicitation_response` answers it. */
export interface ElicitationRequest extends AgentEventBase {
  event: "elicitation_request";
  /** The request's id, for the answer. Upstream. */
  requestId: string;
  /** `form`, `url`, or a word of the agent's own. Upstream. */
  mode: string;
  /** The question, in words for the user. Upstream. */
  message: string;
  /** The form: a JSON Schema of an object whose properties are texts, numbers, booleans or lists of texts. Upstream. */
  requestedSchema?: unknown;
  /** The page to open. Upstream. */
  url?: string;
  /** The agent's id of an opened page, sent again when the user is done. Upstream. */
  elicitationId?: string;
  /** The call that it is about. Upstream. */
  toolUseId?: string;
}

/**
 * The answer to an elicitation. Open: readers must accept words that are not listed here.
 * 
 * - `accept`: The user filled the form in, or opened the page.
 * - `decline`: The user, or the client for want of one, said no.
 * - `cancel`: The request was given up, with its turn for example.
 */
export type ElicitationAction = "accept" | "decline" | "cancel" | (string & {});

/** An `elicitation_request` was answered. Each has one, unless it was withdrawn. */
export interface ElicitationResult extends AgentEventBase {
  event: "elicitation_result";
  /** The request's id, as in its `elicitation_request`. Upstream. */
  requestId: string;
  /** What became of it. Upstream. */
  action: ElicitationAction;
  /** The user's entries. Upstream. */
  content?: unknown;
  /** Who answered: `peer`, or `default` where no program and no person could. Derived; absent where a transcript does not tell. */
  decidedBy?: DecidedBy;
  /** The reason, as the agent got it. Derived. */
  reason?: string;
}

/**
 * An agent's family. Open: readers must accept words that are not listed here.
 * 
 * - `claude`: Claude Code.
 * - `codex`: Codex CLI.
 * - `gemini`: Gemini CLI.
 * - `opencode`: opencode.
 * - `qwen`: Qwen Code.
 * - `acp`: An agent we only know by its protocol.
 */
export type Provider = "claude" | "codex" | "gemini" | "opencode" | "qwen" | "acp" | (string & {});

/** One message of a conversation. */
export interface Message {
  /** The record's id in a session file; `<run>-m<n>` from a stream. Upstream or derived. */
  id: string;
  /** Who speaks. Derived from the record's type: `user` is the user, everything else the assistant. */
  role: Role;
  /** The blocks in order thinking, each call with its result, text; or a plain string if there is no block. Upstream. */
  content: Content;
  /** Milliseconds since 1970. Derived from the record's timestamp. */
  timestamp?: number;
  /** The agent's family. Derived. */
  tool: string;
  /** The model that answered, or was asked. Upstream. */
  model?: string;
  /** Tokens spent on this message, where the source says so. Upstream. */
  usage?: MessageUsage;
  /** The record this was made from; from a stream, the array of its lines. Upstream. */
  _original: unknown;
}

/**
 * Who speaks. Open: readers must accept words that are not listed here.
 * 
 * - `user`: The user, or the agent on the user's behalf.
 * - `assistant`: The agent.
 * - `system`: The system.
 */
export type Role = "user" | "assistant" | "system" | (string & {});

/** The contents of a message. */
export type Content = string | MessageBlock[];

/** One block of a message; `type` is the discriminator. */
export type MessageBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | SlashCommandBlock | MessageImage;

/** A slash command the user gave. */
export interface SlashCommandBlock {
  type: "slash_command";
  /** The command's name. Upstream. */
  command: string;
  /** The call's arguments, as one text. Upstream. */
  message?: string;
  /** Its arguments. Upstream. */
  args?: string;
}

/** The bytes of a picture. */
export interface ImageSource {
  /** Always `base64` here. Derived. */
  type: string;
  /** The media type, such as `image/png`. Upstream. */
  media_type: string;
  /** The bytes in Base64. Upstream. */
  data: string;
}

/** A picture. */
export interface MessageImage {
  type: "image";
  /** Where the picture's bytes are. Upstream. */
  source: ImageSource;
}

/** Tokens spent on a message. */
export interface MessageUsage {
  /** Tokens of the whole prompt. Upstream. */
  input_tokens?: number;
  /** Tokens of the answer. Upstream. */
  output_tokens?: number;
  /** All tokens, thoughts included. Upstream. */
  total_tokens?: number;
  /** Tokens of the prompt that came from a cache. Upstream. */
  cache_read_input_tokens?: number;
}

/** What every `RuntimeEvent` carries. */
export interface RuntimeEventBase {
  /** The vocabulary and its version, `lapidary.runtime/1`, on the first event. Derived. */
  schema?: string;
  /** Position in the run, from 0 without gaps. Derived. */
  seq: number;
  /** RFC 3339, UTC. Upstream, or derived as in `events`. */
  timestamp?: string;
  /** The agent's family. Derived. */
  provider: Provider;
  /** The agent's session. Upstream. */
  threadId?: string;
  /** `<run>-turn-<n>`. Derived. */
  turnId: string;
  /** True if `raw` is a string because the line was not JSON. Derived. */
  rawIsText?: boolean;
  /** The line's bytes in Base64, if they were not UTF-8. Upstream. */
  rawBase64?: string;
  /** The line this was made from. Upstream. */
  raw?: unknown;
}

/** One ticket-mode event. */
export type RuntimeEvent =
  | OutputProduced
  | ToolCallRequested
  | TurnDiffUpdated
  | TokenUsageUpdated
  | TurnCompleted
  | TurnFailed
  | TaskStatus;

/**
 * Whose output it is. Open: readers must accept words that are not listed here.
 * 
 * - `assistant`: The model's own words.
 * - `command`: A command's output.
 * - `mutation`: A file was changed.
 * - `tool`: Any other tool's output.
 */
export type OutputStream = "assistant" | "command" | "mutation" | "tool" | (string & {});

/**
 * The category of a tool, as `specs/4` has it. Open: readers must accept words that are not listed here.
 * 
 * - `command`: Runs a command.
 * - `file_read`: Reads files, lists them or looks through them.
 * - `file_write`: Changes files.
 * - `ask_user`: Asks the user.
 * - `search_fetch`: Searches the web or fetches a page.
 * - `planning`: Plans and keeps books.
 */
export type Category = "command" | "file_read" | "file_write" | "ask_user" | "search_fetch" | "planning" | (string & {});

/** The agent, or one of its tools, produced output. */
export interface OutputProduced extends RuntimeEventBase {
  event: "output_produced";
  /** Whose output. Derived from the tool's category. */
  stream: OutputStream;
  /** The output; for a file mutation a one-line summary. Upstream, or derived where `derived` says so. */
  text: string;
  /** True if this is the whole of it, false for a chunk. Derived. */
  snapshot: boolean;
  /** True if `text` is a summary of ours. Derived. */
  derived?: boolean;
  /** The command that was run. Upstream. */
  command?: string;
  /** The id of the call. Upstream. */
  callId?: string;
  /** The tool's name, if its call was seen. Upstream. */
  tool?: string;
  /** The tool's category. Derived by an exact table. */
  category?: Category;
  /** How the call ended, in the agent's word. Upstream. */
  status?: string;
  /** The call's error: `type` and `message`. Upstream. */
  error?: unknown;
}

/** The agent calls a tool. */
export interface ToolCallRequested extends RuntimeEventBase {
  event: "tool_call_requested";
  /** The call's id. Upstream. */
  callId: string;
  /** The tool's name. Upstream. */
  tool: string;
  /** The tool's category. Derived by an exact table. */
  category?: Category;
  /** The call's arguments. Upstream. */
  arguments: unknown;
}

/** A unified diff was found in a tool's output. */
export interface TurnDiffUpdated extends RuntimeEventBase {
  event: "turn_diff_updated";
  /** The unified diff. Upstream or derived from the files before and after, where the agent reports them; else derived: cut from the output of a tool. */
  diff: string;
  /** True if it was cut from the output of a tool, so that it may be other text. Derived. */
  derived: boolean;
  /** The id of the call whose change it was. Upstream. */
  callId?: string;
}

/** Tokens spent so far. */
export interface TokenUsageUpdated extends RuntimeEventBase {
  event: "token_usage_updated";
  /** Tokens of the prompt, cached ones included. Upstream. */
  totalInputTokens?: number;
  /** Tokens of the answer. Upstream. */
  totalOutputTokens?: number;
  /** Tokens of the prompt that came from a cache. Upstream. */
  totalCachedInputTokens?: number;
  /** All tokens. Upstream; derived as input plus output where the agent gives no total. */
  totalTokens?: number;
  /** The cost in US dollars. Upstream. */
  costUsd?: number;
  /** The model's context window. Upstream. */
  modelContextWindow?: number;
}

/** The turn came to its end. */
export interface TurnCompleted extends RuntimeEventBase {
  event: "turn_completed";
  /** Always `completed`. Derived. */
  status: string;
  /** How long it took, in milliseconds. Upstream. */
  durationMs?: number;
}

/** What went wrong in a turn. */
export interface TurnError {
  /** In words. Upstream, else the cause in words. */
  message: string;
  /** What led to this verdict. Derived. */
  additionalDetails?: string;
}

/** The turn failed. */
export interface TurnFailed extends RuntimeEventBase {
  event: "turn_failed";
  /** Always `failed`. Derived. */
  status: string;
  /** Why. Derived, as in `run_end`. */
  cause: Cause;
  /** What went wrong. Upstream, or derived. */
  error: TurnError;
}

/** The agent reported a status, a warning or an error. */
export interface TaskStatus extends RuntimeEventBase {
  event: "task_status";
  /** `warning`, `error`, or another word of the agent's. Upstream. */
  statusType: string;
  /** In words. Upstream. */
  text: string;
}

/** The result of a run. */
export interface RunResult {
  /** The vocabulary and its version, `lapidary.result/1`. Derived. */
  schema: string;
  /** True only if the agent said so *and* nothing contradicts it. Derived. */
  success: boolean;
  /** How it ended. Derived. */
  outcome: Outcome;
  /** Why. Derived. */
  cause: Cause;
  /** The exit code of `lapidary run` for this cause; in `translate`, the one it would have. Derived. */
  exitCode: number;
  /** The agent's own exit code, if it is known. Upstream. */
  agentExitCode?: number;
  /** The agent's session. Upstream. */
  sessionId?: string;
  /** How long it took, in milliseconds: the whole run if it was live, else the agent's own figure. Derived or upstream. */
  durationMs?: number;
  /** The assistant's final message. Upstream, joined from its chunks. */
  response: string;
  /** Every message of the assistant, in order; `response` is the last of them. Upstream, joined from their chunks. */
  texts: string[];
  /** Calls that were denied, in order. Derived from decisions and from the errors of calls. */
  permissionDenials: PermissionDenial[];
  /** Calls that the agent made without permission, in order. Derived. */
  violations?: PermissionViolation[];
  /** Why the task of an agent of our own ended: `GOAL`, `MAX_TURNS`, `TIMEOUT`, `ABORTED`, `ERROR`, `ERROR_NO_COMPLETE_TASK_CALL`. Upstream. */
  terminateReason?: string;
  /** The limit that the agent ran into before it completed its task in its recovery turn. Upstream. */
  recoveredFrom?: string;
  /** The value that the agent handed over through `complete_task`. Upstream. */
  output?: unknown;
  /** JSON of the answer, when it was asked for: with an output schema, data that fits it. Upstream, token for token. */
  data?: unknown;
  /** How the agent handed `data` over, when an output schema was given. Derived. */
  dataSource?: DataSource;
  /** Files the agent wrote, in order of first success; the value is always null, the content is on disk. Derived from `write_file` and `replace`. */
  files: Files;
  /** Tokens spent. Upstream. */
  usage?: TokenUsage;
  /** What went wrong. Upstream or derived. */
  error?: ResultError;
  /** Warnings the agent gave. Upstream. */
  warnings: string[];
  /** How many lines could not be translated, by kind. Derived. */
  diagnostics: Record<string, number>;
  /** The beginnings of lines that could not be translated, the first few of them. Upstream. */
  diagnosticSamples?: LineSample[];
}

export type Files = Record<string, null>;

/** What went wrong in a run. */
export interface ResultError {
  /** In words. Upstream, else the cause in words. */
  message: string;
  /** The user's next step. Derived. */
  hint?: string;
  /** Where the last answer does not fit the output schema. Derived. */
  dataViolations?: DataViolation[];
}

/** The beginning of a line that could not be translated. */
export interface LineSample {
  /** What sort of diagnostic it was, as in `diagnostics`. Derived. */
  kind: string;
  /** The problem, in words. Derived. */
  message: string;
  /** The line, cut after 200 characters. Upstream, read lossily. */
  line: string;
}

/**
 * One step of an agent's run.
 * 
 * The keys of `data`, by `type`:
 * 
 * - `TOOL_CALL_START`: `name`, `displayName`, `description?`, `args`, `callId`
 * - `TOOL_CALL_END`: `name`, `id`, `output`, `data`
 * - `THOUGHT_CHUNK`: `text`
 * - `ERROR`: `error`, `errorType`, `context?`, `name?`, `callId?`
 */
export interface SubagentActivityEvent {
  /** Always true: tells these events from others. Derived. */
  isSubagentActivityEvent: boolean;
  /** The agent. Derived. */
  agentName: string;
  /** What happened. Derived. */
  type: ActivityType;
  /** What there is to know about it. Upstream. */
  data: Record<string, unknown>;
}

/**
 * What happened in an agent's run. Open: readers must accept words that are not listed here.
 * 
 * - `TOOL_CALL_START`: The model called a tool.
 * - `TOOL_CALL_END`: The tool answered.
 * - `THOUGHT_CHUNK`: The model thought.
 * - `ERROR`: An error occurred.
 */
export type ActivityType = "TOOL_CALL_START" | "TOOL_CALL_END" | "THOUGHT_CHUNK" | "ERROR" | (string & {});

/** What every `Command` carries. */
export interface CommandBase {
  /** Identifies the command's `command_result`, which has it as its `commandId`. Upstream: the front end's. */
  id?: unknown;
}

/** A line that a front end sends in: a command, and an id for its result. */
export type Command =
  | SendMessage
  | Steer
  | PermissionResponse
  | ElicitationResponse
  | Interrupt
  | Kill
  | SetModel
  | SetPermissionMode
  | SetConfigOption
  | SetReasoningEffort
  | CreateSession
  | LoadSession
  | ResumeSession
  | ListSessions
  | CloseSession
  | DeleteSession
  | SetMode
  | Authenticate;

/** Gives the agent a prompt. */
export interface SendMessage extends CommandBase {
  command: "send_message";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The prompt. Upstream. */
  text: string;
  /** Content blocks beside the text. Upstream. */
  content?: unknown[];
  /** A JSON Schema that the answer must fit. The `command_result` has the answer's `data`, or is an error. Upstream. */
  outputSchema?: unknown;
  /** How often the agent may repair an answer that does not fit; 2 if absent. Upstream. */
  schemaRepairs?: number;
}

/**
 * Gives a message to an agent that is at work: its model gets it with the results of the calls under way. Only agents of Lapidary take
 * one (`agentCapabilities._meta.lapidary.steering`).
 */
export interface Steer extends CommandBase {
  command: "steer";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The message. Upstream. */
  text: string;
}

/** Answers a `permission_request`. */
export interface PermissionResponse extends CommandBase {
  command: "permission_response";
  /** The request's id. Upstream. */
  requestId: string;
  /** Whether it may. Upstream. */
  allowed: boolean;
  /** With `allowed`: true allows the same action for the rest of the run, without another `permission_request`. Upstream. */
  forRun?: boolean;
  /** A word to the agent. Upstream. */
  message?: string;
  /** Other arguments than it asked for, or the chosen `optionId` over ACP. Upstream. */
  updatedInput?: unknown;
  /** Rules to remember. Upstream. */
  updatedPermissions?: unknown[];
  /** Whether to stop the turn as well. Upstream. */
  interrupt?: boolean;
}

/** Answers an `elicitation_request`. */
export interface ElicitationResponse extends CommandBase {
  command: "elicitation_response";
  /** The request's id. Upstream. */
  requestId: string;
  /** `accept`, `decline` or `cancel`. Upstream. */
  action: string;
  /** With `accept`: the user's entries, an object whose values are texts, numbers, booleans or lists of texts. Upstream. */
  content?: unknown;
}

/** Stops the turn. */
export interface Interrupt extends CommandBase {
  command: "interrupt";
  /** The session it is for. Upstream. */
  sessionId?: string;
}

/** Stops the agent. */
export interface Kill extends CommandBase {
  command: "kill";
  /** The session it is for. Upstream. */
  sessionId?: string;
}

/** Chooses a model. */
export interface SetModel extends CommandBase {
  command: "set_model";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The model. Upstream. */
  model: string;
}

/** Chooses a permission mode. */
export interface SetPermissionMode extends CommandBase {
  command: "set_permission_mode";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The mode. Upstream. */
  mode: string;
}

/** Sets an option of the session. */
export interface SetConfigOption extends CommandBase {
  command: "set_config_option";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The option's id. Upstream. */
  configId: string;
  /** Its new value. Upstream. */
  value: unknown;
}

/** Says how hard to think. */
export interface SetReasoningEffort extends CommandBase {
  command: "set_reasoning_effort";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The effort. Upstream. */
  effort: string;
}

/** Starts a session. */
export interface CreateSession extends CommandBase {
  command: "create_session";
  /** The working directory. Upstream. */
  cwd: string;
  /** The first prompt. Upstream. */
  prompt?: string;
  /** Everything else, as the agent's adapter understands it. Upstream. */
  options?: unknown;
}

/** Opens an earlier session, and has its history said again. */
export interface LoadSession extends CommandBase {
  command: "load_session";
  /** Which. Upstream: the agent's id. */
  sessionId: string;
  /** The working directory; where the agent was started if absent. Upstream. */
  cwd?: string;
}

/** Opens an earlier session, without its history. */
export interface ResumeSession extends CommandBase {
  command: "resume_session";
  /** Which. Upstream: the agent's id. */
  sessionId: string;
  /** The working directory; where the agent was started if absent. Upstream. */
  cwd?: string;
}

/** Asks for the agent's sessions. They come in the command's result, a page at a time. */
export interface ListSessions extends CommandBase {
  command: "list_sessions";
  /** Only those of this directory. Upstream. */
  cwd?: string;
  /** Where the page begins: the `nextCursor` of the one before. Upstream. */
  cursor?: string;
}

/** Ends a session, which the agent keeps. */
export interface CloseSession extends CommandBase {
  command: "close_session";
  /** Which. Upstream: the agent's id. */
  sessionId: string;
}

/** Has the agent delete a session. */
export interface DeleteSession extends CommandBase {
  command: "delete_session";
  /** Which. Upstream: the agent's id. */
  sessionId: string;
}

/** Puts a session into one of the agent's own modes. */
export interface SetMode extends CommandBase {
  command: "set_mode";
  /** The session it is for. Upstream. */
  sessionId?: string;
  /** The mode's id, as `session_mode` lists it. Upstream. */
  modeId: string;
}

/** Logs in by one of the methods that the agent has listed. */
export interface Authenticate extends CommandBase {
  command: "authenticate";
  /** The method's id. Upstream. */
  methodId: string;
}

/** `run.json` of a recording. */
export interface Recording {
  /** The format and its version, `lapidary.recording/1`. Derived. */
  schema: string;
  /**
   * The program that wrote it and its version, such as `lapidary 0.1.0`. Absent in manifests of early builds, where `exitCode` is
   * the agent's. Derived.
   */
  writer?: string;
  /** The run's id. Derived. */
  run: string;
  /** The agent's name, such as `gemini`. Derived. */
  agent: string;
  /** The agent's family, as its events name it. Absent if it was no run of ours, and in recordings of early builds. Derived. */
  provider?: Provider;
  /** The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived. */
  transport: string;
  /** The program and its arguments. Derived. */
  argv: string[];
  /** The names of the variables in its environment. Values may be secrets and are not recorded. Derived. */
  environment: string[];
  /** Where it ran. Derived. */
  directory: string;
  /** The effect of a denied call on the run: `auto`, `warn` or `fail`. Absent if it was no run of ours. Derived. */
  onDenied?: string;
  /** The directories that the kernel let the agent write. Absent if it was not confined, and in recordings of early builds. Derived. */
  confinement?: RecordedConfinement;
  /** Whether another attempt could have followed this one. Absent if not. Derived. */
  mayRetry?: boolean;
  /** When it was started. Derived. */
  startedAt: string;
  /** How it ended. Absent while it runs, and if we were killed. Derived. */
  end?: RecordedEnd;
}

/** The limits that the kernel set to a recorded agent and to its process tree. */
export interface RecordedConfinement {
  /** The word of `--confine`: `workspace` or `read-only`. Derived. */
  mode: string;
  /** The directories and files that it could write, the workspace first. Derived. */
  write: string[];
  /** The TCP ports that it could connect to. Absent if they were not limited. Derived. */
  connect?: number[];
}

/** How a recorded process ended. */
export interface RecordedEnd {
  /** How long it ran, in milliseconds. Derived. */
  durationMs: number;
  /** What `lapidary run` exited with, if it was one of our runs and has been judged. Derived. */
  exitCode?: number;
  /** The exit code of the recorded process. Upstream. */
  agentExitCode?: number;
  /** The signal that ended it, such as `SIGKILL`. Upstream. */
  signal?: string;
  /** How the run ended, if it was one of ours. Derived. */
  outcome?: Outcome;
  /** Why. Derived. */
  cause?: Cause;
  /**
   * What went wrong, if Lapidary ended the run or could not start it. Absent in recordings of earlier builds, as `hint` and
   * `remarks`. Derived.
   */
  message?: string;
  /** The next step. Derived. */
  hint?: string;
  /** What else led to that. Derived. */
  remarks?: string[];
  /** Calls that the agent made without permission, then protected files that it changed. Derived. */
  violations?: PermissionViolation[];
  /** The agent's session; the first, if there were several. Absent in recordings of early builds, as all that follows. Upstream. */
  sessionId?: string;
  /** The model that the agent named. Upstream. */
  model?: string;
  /** The beginning of the first prompt, at most 200 characters. Upstream. */
  prompt?: string;
  /** All tokens that the agent reported. Upstream, added up. */
  totalTokens?: number;
  /** The cost of the run in US dollars, if that is known for every turn. Upstream, or derived: see `costBasis`. */
  costUsd?: number;
  /** Where `costUsd` comes from. Derived. */
  costBasis?: CostBasis;
}

/**
 * Where a cost comes from. Open: readers must accept words that are not listed here.
 * 
 * - `reported`: The agent reported it.
 * - `prices`: Tokens times prices of a table: an estimate.
 */
export type CostBasis = "reported" | "prices" | (string & {});

/** Recorded runs, newest first. */
export interface RunList {
  /** The vocabulary and its version, `lapidary.runs/1`. Derived. */
  schema: string;
  /** The directory that holds the recordings. Derived. */
  directory: string;
  /** The runs, newest first. Derived. */
  runs: RunInfo[];
  /** How many matching runs are older than the ones that `--last` shows. Derived. */
  older?: number;
  /** The problems of recordings, a sentence each. Derived. */
  warnings?: string[];
}

/** A recorded run. */
export interface RunInfo {
  /** The run's id, which is the name of its recording. Derived. */
  id: string;
  /** Whether it is over. Derived. */
  state: RunState;
  /** The agent's name, such as `gemini`. Derived. */
  agent?: string;
  /** How it ended, if it was a run of ours. Derived. */
  outcome?: Outcome;
  /** Why. Derived. */
  cause?: Cause;
  /** What `lapidary run` exited with. Derived. */
  exitCode?: number;
  /** The exit code of the recorded process. Upstream. */
  agentExitCode?: number;
  /** The signal that ended it, such as `SIGKILL`. Upstream. */
  signal?: string;
  /** The agent's session, if it is known. Upstream. */
  sessionId?: string;
  /** When it was started. Derived. */
  startedAt?: string;
  /** How long it took, in milliseconds. Derived. */
  durationMs?: number;
  /** The directory that the agent worked in. Derived. */
  project?: string;
  /** The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived. */
  transport?: string;
  /** The model that the agent named. Upstream. */
  model?: string;
  /** The beginning of the first prompt. Upstream. */
  prompt?: string;
  /** All tokens that the agent reported. Upstream, added up. */
  totalTokens?: number;
  /** The cost in US dollars, if that is known. Upstream, or derived: see `costBasis`. */
  costUsd?: number;
  /** Where `costUsd` comes from. Derived. */
  costBasis?: CostBasis;
  /** Why less is known than usual: a missing or broken `run.json`, a newer version. Derived. */
  problem?: string;
}

/**
 * Whether a run is over. Open: readers must accept words that are not listed here.
 * 
 * - `running`: A process of ours is recording it.
 * - `ended`: It is over, and the recording says how it ended.
 * - `died`: The process that recorded it was killed: how the run ended is unknown.
 * - `unreadable`: The manifest is missing, broken, or of a version that cannot be read.
 */
export type RunState = "running" | "ended" | "died" | "unreadable" | (string & {});

/** Recordings that were removed, or would be. */
export interface RunRemoval {
  /** The vocabulary and its version, `lapidary.runs-removal/1`. Derived. */
  schema: string;
  /** Whether recordings were removed: false if this report is a preview. Derived. */
  applied: boolean;
  /** The retention that was applied; absent for runs that were named. Derived. */
  retention?: RunRetention;
  /** The recordings, newest first. Derived. */
  removed: RemovedRun[];
  /** How many recordings stay. Derived. */
  kept: number;
  /** How many bytes go. Derived. */
  bytes: number;
  /** Files that could not be removed, a sentence each. Derived. */
  failures?: string[];
}

/** How long and up to which size recordings are kept. */
export interface RunRetention {
  /** For how many seconds; absent if for ever. Derived. */
  maxAgeSeconds?: number;
  /** How many bytes in all; absent without a limit. Derived. */
  maxBytes?: number;
}

/** A recording that goes. */
export interface RemovedRun {
  /** The run's id. Derived. */
  id: string;
  /** Why it goes. Derived. */
  reason: RunRemovalReason;
  /** When a file of it was last written. Derived. */
  modifiedAt: string;
  /** How many bytes it has. Derived. */
  bytes: number;
}

/**
 * Why a recording goes. Open: readers must accept words that are not listed here.
 * 
 * - `asked`: Its id was given to `runs delete`.
 * - `too_old`: It is older than `runs_max_age`.
 * - `too_large`: It and all newer recordings have more bytes than `runs_max_size`.
 */
export type RunRemovalReason = "asked" | "too_old" | "too_large" | (string & {});

/** Tickets, newest first. */
export interface FleetTicketList {
  /** The vocabulary and its version, `lapidary.fleet-tickets/1`. Derived. */
  schema: string;
  /** The store, without its password. Derived. */
  store: string;
  /** The tickets, newest first. Derived. */
  tickets: FleetTicket[];
}

/** A ticket of a fleet. */
export interface FleetTicket {
  /** Its id. Derived. */
  ticket: string;
  /** Its state. Derived. */
  state: FleetTicketState;
  /** The beginning of its prompt. Upstream. */
  title: string;
  /** The agent that it names. Upstream. */
  agent?: string;
  /** The key under which it was submitted. Upstream. */
  requestKey?: string;
  /** Its priority: higher ones first. Upstream. */
  priority: number;
  /** The lanes in which it runs. Upstream. */
  lanes?: string[];
  /** Labels that its worker must have. Upstream. */
  needs?: string[];
  /** Tickets that it waits for. Derived. */
  waitsFor?: string[];
  /** Not run before this time. Derived. */
  notBefore: string;
  /** How often it was claimed. Derived. */
  attempts: number;
  /** How many attempts there may be. Upstream. */
  maxAttempts: number;
  /** How many attempts lost their worker. Derived. */
  lost: number;
  /** The fencing number of its last attempt; 0 before the first. Derived. */
  term: number;
  /** The worker that runs it. Derived. */
  worker?: string;
  /** The end of the worker's lease, on the store's clock. Derived. */
  leaseUntil?: string;
  /** Permission requests that wait for an answer. Derived. */
  openPrompts: number;
  /** Who ordered its end. Derived. */
  cancelledBy?: string;
  /** The reason for that, in words. Derived. */
  cancelReason?: string;
  /** How it ended. Derived. */
  outcome?: Outcome;
  /** Why. Derived. */
  cause?: Cause;
  /** Tokens of all its attempts that ended, as far as they are known. Derived. */
  totalTokens?: number;
  /** The cost of all its attempts that ended in US dollars, as far as it is known: reported by agents, or by prices. Derived. */
  costUsd?: number;
  /** Who submitted it. Derived. */
  createdBy: string;
  /** When it was submitted. Derived. */
  createdAt: string;
  /** When its last attempt began. Derived. */
  startedAt?: string;
  /** When it ended. Derived. */
  endedAt?: string;
}

/**
 * The state of a ticket. Open: readers must accept words that are not listed here.
 * 
 * - `blocked`: It waits for other tickets.
 * - `waiting`: It waits for a worker.
 * - `running`: A worker runs it.
 * - `done`: It ended.
 */
export type FleetTicketState = "blocked" | "waiting" | "running" | "done" | (string & {});

/** A ticket with its attempts. */
export interface FleetTicketReport {
  /** The vocabulary and its version, `lapidary.fleet-ticket/1`. Derived. */
  schema: string;
  /** Its id. Derived. */
  ticket: string;
  /** Its state. Derived. */
  state: FleetTicketState;
  /** The beginning of its prompt. Upstream. */
  title: string;
  /** The agent that it names. Upstream. */
  agent?: string;
  /** The key under which it was submitted. Upstream. */
  requestKey?: string;
  /** Its priority: higher ones first. Upstream. */
  priority: number;
  /** The lanes in which it runs. Upstream. */
  lanes?: string[];
  /** Labels that its worker must have. Upstream. */
  needs?: string[];
  /** Tickets that it waits for. Derived. */
  waitsFor?: string[];
  /** Not run before this time. Derived. */
  notBefore: string;
  /** How often it was claimed. Derived. */
  attempts: number;
  /** How many attempts there may be. Upstream. */
  maxAttempts: number;
  /** How many attempts lost their worker. Derived. */
  lost: number;
  /** The fencing number of its last attempt; 0 before the first. Derived. */
  term: number;
  /** The worker that runs it. Derived. */
  worker?: string;
  /** The end of the worker's lease, on the store's clock. Derived. */
  leaseUntil?: string;
  /** Permission requests that wait for an answer. Derived. */
  openPrompts: number;
  /** Who ordered its end. Derived. */
  cancelledBy?: string;
  /** The reason for that, in words. Derived. */
  cancelReason?: string;
  /** How it ended. Derived. */
  outcome?: Outcome;
  /** Why. Derived. */
  cause?: Cause;
  /** Tokens of all its attempts that ended, as far as they are known. Derived. */
  totalTokens?: number;
  /** The cost of all its attempts that ended in US dollars, as far as it is known: reported by agents, or by prices. Derived. */
  costUsd?: number;
  /** Who submitted it. Derived. */
  createdBy: string;
  /** When it was submitted. Derived. */
  createdAt: string;
  /** When its last attempt began. Derived. */
  startedAt?: string;
  /** When it ended. Derived. */
  endedAt?: string;
  /** What it asks for, as it was submitted. Upstream. */
  spec?: unknown;
  /** The attempts, oldest first. Derived. */
  attemptList: FleetAttempt[];
  /** Permission requests that wait for an answer. Derived. */
  prompts?: FleetPrompt[];
  /** The result of the last attempt that has one (`lapidary.result/1`). Derived. */
  result?: unknown;
}

/** One attempt at a ticket. */
export interface FleetAttempt {
  /** Its number, from 1. Derived. */
  attempt: number;
  /** Its fencing number. Derived. */
  term: number;
  /** The id of its run. Derived. */
  run: string;
  /** Its worker. Derived. */
  worker: string;
  /** How many events its log has. Derived. */
  events: number;
  /** Whether the log shows that something was touched. Derived. */
  touched: boolean;
  /** When it began. Derived. */
  startedAt: string;
  /** When it ended. Derived. */
  endedAt?: string;
  /** How it ended. Derived. */
  outcome?: Outcome;
  /** Why. Derived. */
  cause?: Cause;
  /** Its tokens, if they are known. Derived. */
  totalTokens?: number;
  /** Its cost in US dollars, if that is known: reported by the agent, or by prices. Derived. */
  costUsd?: number;
  /** What led to it: JSON, or a text. Derived. */
  evidence?: unknown;
  /** The files that it left. Derived. */
  artifacts?: FleetArtifact[];
}

/** A file that an attempt left. */
export interface FleetArtifact {
  /** Its name. Derived. */
  name: string;
  /** Its media type. Derived. */
  mediaType: string;
  /** Its size. Derived. */
  bytes: number;
  /** Its SHA-256 in hexadecimal digits. Derived. */
  sha256: string;
}

/** A permission request that waits for an answer. */
export interface FleetPrompt {
  /** The run that asks. Derived. */
  run: string;
  /** Its `requestId`. Upstream. */
  requestId: string;
  /** The `permission_request` event. Upstream. */
  event: unknown;
  /** When it was asked. Derived. */
  askedAt: string;
}

/** One line of `fleet submit`. */
export interface FleetSubmission {
  /** The ticket's id. Absent if it was refused. Derived. */
  ticket?: string;
  /** True if the ticket was there already, under the same key. Derived. */
  existing?: boolean;
  /** Why it was refused. Derived. */
  error?: string;
  /** The line of a batch that this is about, from 1. Derived. */
  line?: number;
}

/** A change of a fleet. */
export interface FleetChange {
  /** The vocabulary and its version, `lapidary.fleet-change/1`. Derived. */
  schema: string;
  /** The store, without its password. Derived. */
  store: string;
  /** The ticket that was changed. Derived. */
  ticket?: string;
  /** What was done: `initialised`, `cancelled`, `cancel_ordered`, `retried`, `answered`, `archived`, `removed`. Derived. */
  change: string;
  /** Versions of the tables that were applied. Derived. */
  versions?: number[];
  /** The directory that was written. Derived. */
  directory?: string;
}

/** Queue, lanes and workers of a fleet. */
export interface FleetOverviewReport {
  /** The vocabulary and its version, `lapidary.fleet-overview/1`. Derived. */
  schema: string;
  /** The store, without its password. Derived. */
  store: string;
  /** The store's clock. Derived. */
  now: string;
  /** Tickets that wait for other tickets. Derived. */
  blocked: number;
  /** Tickets that wait for a worker. Derived. */
  waiting: number;
  /** Tickets that run. Derived. */
  running: number;
  /** Tickets that ended, counted up to 100,000. Derived. */
  done: number;
  /** How long the ticket that waits longest has been claimable, in milliseconds. Derived. */
  oldestWaitingMs?: number;
  /** Permission requests that wait for an answer. Derived. */
  openPrompts: number;
  /** The oldest of them, up to 100. Derived. */
  prompts?: FleetPrompt[];
  /** The attempts that ended of tickets that were submitted within the last day, at most of the newest 100,000. Derived. */
  lastDay: FleetUsage;
  /** Lanes in which a ticket runs or waits. Derived. */
  lanes: FleetLane[];
  /** Workers that were seen within a day. Derived. */
  workers: FleetWorker[];
}

/** Tokens and cost of several attempts, as far as they are known. */
export interface FleetUsage {
  /** The tokens. Derived. */
  totalTokens?: number;
  /** The cost in US dollars: reported by agents, or by prices. Derived. */
  costUsd?: number;
}

/** A lane. */
export interface FleetLane {
  /** Its name. Upstream. */
  name: string;
  /** How many of its tickets run. Derived. */
  running: number;
  /** How many may run. Upstream. */
  limit?: number;
  /** How many of its tickets wait. Derived. */
  waiting: number;
}

/** A worker. */
export interface FleetWorker {
  /** Its id, which is new at each start. Derived. */
  id: string;
  /** Its name. Derived. */
  name: string;
  /** Its machine. Derived. */
  host: string;
  /** The version of its program. Derived. */
  version: string;
  /** Its labels. Derived. */
  labels: string[];
  /** How many tickets it runs. Derived. */
  running: number;
  /** How many it may run. Derived. */
  slots: number;
  /** When it started. Derived. */
  startedAt: string;
  /** Its last heartbeat. Derived. */
  seenAt: string;
  /** Whether it claims no more tickets. Derived. */
  draining: boolean;
  /** Whether it left in order. Derived. */
  left: boolean;
}

/**
 * The abilities of an agent on this machine. Where no version is known, the abilities of a current one. An agent that is known only by
 * its protocol announces the rest when it is started: until then an ability counts as missing.
 */
export interface Capabilities {
  /** The vocabulary and its version, `lapidary.capabilities/1`. Derived. */
  schema: string;
  /** The agent's name, as `--agent` takes it. Derived. */
  agent: string;
  /** True if its program was found, and for an agent with a `url`, which needs none here. Derived. */
  installed: boolean;
  /** The address of a remote agent, without credentials. It is not connected to find out more. Derived. */
  url?: string;
  /** The program that a run would start. Derived. */
  cliPath?: string;
  /** Where the program was looked for when it was found. Derived. */
  foundBy?: FoundBy;
  /** Its version, if its package says so; nothing is started to find out. Upstream. */
  version?: string;
  /** Other places that were searched, and the problem of each. Derived. */
  tried: TriedPlace[];
  /** True if a prompt may be a slash command. Derived. */
  supportsSlashCommands: boolean;
  /** True if the model can be chosen. Derived. */
  supportsModels: boolean;
  /** Models to choose from; the agent may know more. Derived. */
  models: Model[];
  /** True if it can search the web. Derived. */
  supportsWebSearch: boolean;
  /** True if it tells its thoughts, in its session files at least. Derived. */
  supportsThinking: boolean;
  /** True if it reports its work while it works. Derived from the version. */
  supportsStreamJson: boolean;
  /** True if it can continue an earlier session. Derived from the version. */
  supportsResume: boolean;
  /** True if it knows a mode in which it only plans. Derived from the version. */
  supportsPlanMode: boolean;
  /** True if it speaks the Agent Client Protocol. Derived. */
  supportsAcp: boolean;
  /** The values of `--permission-mode` that it has a mode of its own for. Derived from the version. */
  permissionModes: string[];
  /** How rules and permission modes are kept with it. Derived from the version. */
  rules: RuleSupport;
  /** How one gets it: a command, or a place with instructions. Derived. */
  install?: string;
  /** Confinement by the kernel. Derived. */
  confinement?: AgentConfinement;
  /** The same agent as a provider in a workflow. Derived. */
  metadata: ProviderMetadata;
}

/**
 * Where a program was looked for. Open: readers must accept words that are not listed here.
 * 
 * - `variable`: By a variable of the environment that names it.
 * - `path`: In a directory on PATH.
 * - `common_place`: In a place where installers like to put it.
 */
export type FoundBy = "variable" | "path" | "common_place" | (string & {});

/** A place that was looked at in vain. */
export interface TriedPlace {
  /** The path. Derived. */
  path: string;
  /** Why it was looked at. Derived. */
  place: FoundBy;
  /** The problem at this place, in words. Derived. */
  refused: string;
}

/** A model to choose. */
export interface Model {
  /** The agent's own name for it. Upstream. */
  id: string;
  /** What people call it. Upstream. */
  name: string;
}

/** How rules and permission modes are kept with an agent. */
export interface RuleSupport {
  /** Over ACP. Absent if it does not speak it. Derived. */
  acp?: RuleKeeping;
  /** Over stream-json. Absent if it does not have it. Derived. */
  streamJson?: RuleKeeping;
  /** Over ACP: which layer holds a denial of each kind of action. Derived. */
  acpDenials?: DenialLayers;
  /** The same over stream-json. Derived. */
  streamJsonDenials?: DenialLayers;
}

/**
 * How rules are kept with an agent. Open: readers must accept words that are not listed here.
 * 
 * - `enforced`: The agent is told what to deny, and denies it by itself.
 * - `asked`: The agent is told to ask before each call that is not allowed outright.
 * - `partly`: The agent is told, but cannot be told to ask about every call: which, the layers of each kind say.
 * - `watched`: The agent is told nothing: a call that it does not ask about is seen once it runs, and ends the run.
 */
export type RuleKeeping = "enforced" | "asked" | "partly" | "watched" | (string & {});

/** Which layer holds a rule that denies a whole kind of action. */
export interface DenialLayers {
  /** Reading files. Derived. */
  read: RuleKeeping;
  /** Searching files. Derived. */
  search: RuleKeeping;
  /** Changing files. Derived. */
  edit: RuleKeeping;
  /** Removing files. Derived. */
  delete: RuleKeeping;
  /** Moving files. Derived. */
  move: RuleKeeping;
  /** Running commands. Derived. */
  execute: RuleKeeping;
  /** Requests to the network. Derived. */
  fetch: RuleKeeping;
  /** Tools of MCP servers. Derived. */
  mcp: RuleKeeping;
}

/** The directories and devices that the kernel lets an agent write. */
export interface AgentConfinement {
  /** The default of `confine` in an unattended run: `workspace` or `off`. Derived. */
  default: string;
  /** The version of Landlock's interface that the kernel has, up to the newest that is used (6); 0 if there is none. Derived. */
  landlockAbi: number;
  /** Where the agent keeps its state, which it can write although confined. Derived. */
  state: string[];
}

/** The facts about a provider that a workflow engine needs before it configures one. Keys in `snake_case`, as such engines have them. */
export interface ProviderMetadata {
  /** The provider's name. Derived. */
  name: string;
  /** A description in one line. Derived. */
  description: string;
  /** True if it does not work without a configuration. Derived. */
  requires_config: boolean;
  /** The keys that its configuration knows. Derived. */
  config_keys: string[];
  /** How long a response may take, in seconds, unless configured otherwise. Derived. */
  default_response_timeout: number;
  /** Its ways of changing files: it writes them itself. Derived. */
  fs_ability: string;
}

/** Everything that was looked at. */
export interface Checkup {
  /** The vocabulary and its version, `lapidary.doctor/1`. Derived. */
  schema: string;
  /** The agent's name, as `--agent` takes it. Derived. */
  agent: string;
  /** True if nothing is a problem. Derived. */
  healthy: boolean;
  /** The checks, in this order. Derived. */
  checks: Check[];
  /** The observations of an agent that speaks ACP, with `--prove`. Derived. */
  card?: Card;
}

/** One thing that has to be right. */
export interface Check {
  /** The subject of the check. There may be several of a name, such as one for each settings file. Derived. */
  name: CheckName;
  /** The result of the check. Derived. */
  state: CheckState;
  /** The same in words. Derived. */
  message: string;
  /** What to do about it, if we know. Derived. */
  remedy?: string;
  /** What else is worth knowing. Derived. */
  details?: string[];
  /** How long it took, in milliseconds, where a program was started. Derived. */
  durationMs?: number;
  /** In `prove_rules`: the attempts that were made, and what held each. Derived. */
  denials?: ProvenDenial[];
  /** In `prove_servers`: how MCP servers of a run reach the agent. Derived. */
  serverReach?: ServerReach;
}

/**
 * Subjects of checks. Open: readers must accept words that are not listed here.
 * 
 * - `agent`: Whether the agent is installed, and where.
 * - `node`: Whether Node is there and new enough.
 * - `start`: Whether the agent can be started.
 * - `version`: Which version it is.
 * - `trust`: Whether the folder is trusted.
 * - `auth`: Whether there is a way to sign in.
 * - `settings`: Whether the agent's settings files can be read.
 * - `config`: Whether our own configuration can be read.
 * - `state`: Whether runs can be recorded.
 * - `confinement`: Whether the kernel can confine the agent, and whether it does.
 * - `rules`: Which layer holds a rule that denies each kind of action.
 * - `prove_start`: Proven: a run begins.
 * - `prove_streaming`: Proven: text arrives while the model still speaks.
 * - `prove_tool`: Proven: a tool is called and its output seen.
 * - `prove_cancel`: Proven: a run that hangs can be cancelled.
 * - `prove_leftovers`: Proven: nothing of a run outlives it.
 * - `prove_rules`: Proven: what rules deny is not done, and what held each attempt. One for each transport.
 * - `prove_servers`: Proven: whether MCP servers of a run (`--with-agents`, `--mcp-config`) reach the agent, and how. One for each transport.
 * - `agents`: Which of the agents that we know are installed.
 * - `acp_start`: Over ACP: it starts and answers `initialize`.
 * - `acp_abilities`: Over ACP: the abilities that it announces.
 * - `acp_session`: Over ACP: a session is opened without an account.
 * - `acp_modes`: Over ACP: the modes that a session offers.
 * - `acp_options`: Over ACP: the options and models that a session offers.
 * - `acp_turn`: Over ACP: a turn with a mock model.
 * - `acp_permission`: Over ACP: whether it asks before it runs a shell command.
 * - `acp_usage`: Over ACP: where it tells how many tokens were used.
 * - `acp_cancel`: Over ACP: a turn is cancelled.
 * - `acp_unknown`: Over ACP: its answer to an unknown method.
 * - `acp_shutdown`: Over ACP: the step that made it end.
 * - `acp_leftovers`: Over ACP: nothing of it is left running.
 * - `acp_stdout`: Over ACP: whether its stdout holds nothing but messages.
 */
export type CheckName =
  | "agent"
  | "node"
  | "start"
  | "version"
  | "trust"
  | "auth"
  | "settings"
  | "config"
  | "state"
  | "confinement"
  | "rules"
  | "prove_start"
  | "prove_streaming"
  | "prove_tool"
  | "prove_cancel"
  | "prove_leftovers"
  | "prove_rules"
  | "prove_servers"
  | "agents"
  | "acp_start"
  | "acp_abilities"
  | "acp_session"
  | "acp_modes"
  | "acp_options"
  | "acp_turn"
  | "acp_permission"
  | "acp_usage"
  | "acp_cancel"
  | "acp_unknown"
  | "acp_shutdown"
  | "acp_leftovers"
  | "acp_stdout"
  | (string & {});

/**
 * The result of a check. Open: readers must accept words that are not listed here.
 * 
 * - `ok`: All is well.
 * - `warning`: It works, but not as it should, or the result is unclear.
 * - `problem`: Runs will fail.
 * - `skipped`: It was not looked at, because an earlier check failed.
 * - `unproven`: It cannot be shown on this machine, which says nothing against the agent.
 */
export type CheckState = "ok" | "warning" | "problem" | "skipped" | "unproven" | (string & {});

/** An attempt that a rule denied. */
export interface ProvenDenial {
  /** The kind of action that the rule denies. Derived. */
  kind: ToolKind;
  /** The transport of the run, `acp` or `stream-json`. Derived. */
  transport: string;
  /** What held the attempt. Derived. */
  heldBy: DenialHolder;
}

/**
 * What held an attempt that a rule denied. Open: readers must accept words that are not listed here.
 * 
 * - `question`: The agent asked, and Lapidary denied.
 * - `agent`: The agent had offered its model the tool, and refused the call.
 * - `no_tool`: The agent did not offer its model a tool for it.
 * - `watch`: Nothing held it, but Lapidary saw it run: a run with this rule would have been stopped.
 * - `nothing`: Nothing held it: its effect was seen, and no call told of it.
 * - `not_started`: A run with the rule does not start, because the agent cannot be told of it.
 * - `not_attempted`: The turn ended before the model made the attempt.
 */
export type DenialHolder =
  | "question"
  | "agent"
  | "no_tool"
  | "watch"
  | "nothing"
  | "not_started"
  | "not_attempted"
  | (string & {});

/**
 * How MCP servers of a run reach an agent. Open: readers must accept words that are not listed here.
 * 
 * - `session_new`: As parameters of the session (`session/new`).
 * - `settings_layer`: Through a settings file of the run.
 * - `unreached`: Not at all: the agent starts no server of a run.
 */
export type ServerReach = "session_new" | "settings_layer" | "unreached" | (string & {});

/** An agent's card. A missing field was not observed: the check of that name says why. */
export interface Card {
  /** The program that was started, and its arguments. Derived. */
  command: string[];
  /** How long it took to answer `initialize`, in milliseconds. Derived. */
  startMs?: number;
  /** The version of the protocol that it speaks; 0 if it did not say. Upstream. */
  protocolVersion?: number;
  /** The agent's own name and version. Upstream. */
  agentName?: string;
  /** Which version of itself it says it is. Upstream. */
  agentVersion?: string;
  /** The abilities that it announces. Upstream. */
  abilities?: CardAbilities;
  /** How rules are kept with it: as it was started here. Derived. */
  rules?: RuleKeeping;
  /** The ways to log in, by their ids. Upstream. */
  authMethods?: string[];
  /** The result of opening a session. Derived. */
  session?: CardSession;
  /** The result of a prompt. Derived. */
  turn?: CardTurn;
  /** The result of cancelling a turn. Derived. */
  cancel?: CardCancel;
  /** The agent's answer to an unknown method. Derived. */
  unknownMethod?: CardUnknownMethod;
  /** How it ended. Derived. */
  shutdown?: CardShutdown;
  /** How many lines of its stdout were no messages of the protocol. Derived. */
  noiseLines: number;
}

/** The abilities that an agent announces beyond the protocol's minimum. */
export interface CardAbilities {
  /** `session/load`. Upstream. */
  load: boolean;
  /** `session/list`. Upstream. */
  list: boolean;
  /** `session/resume`. Upstream. */
  resume: boolean;
  /** `session/close`. Upstream. */
  close: boolean;
  /** `session/delete`. Upstream. */
  delete: boolean;
  /** Images in prompts. Upstream. */
  image: boolean;
  /** Sound in prompts. Upstream. */
  audio: boolean;
  /** Whole resources in prompts. Upstream. */
  embedded: boolean;
  /** MCP servers over HTTP. Upstream. */
  mcpHttp: boolean;
  /** MCP servers over server-sent events. Upstream. */
  mcpSse: boolean;
}

/** The result of opening a session without an account. */
export interface CardSession {
  /** True if there was one. Derived. */
  opened: boolean;
  /** The code of the error that there was instead; -32000 says that one has to log in. Upstream. */
  errorCode?: number;
  /** The mode that it is in. Upstream. */
  mode?: string;
  /** The modes that it can be in. Upstream. */
  modes?: string[];
  /** The options that it has, by their ids. Upstream. */
  options?: string[];
  /** The models to choose from, by their ids. Upstream. */
  models?: string[];
}

/** The result of a prompt, with a mock model. */
export interface CardTurn {
  /** Why it ended, in the agent's word. Upstream. */
  stopReason: string;
  /** True if the played model was asked: then its address can be set. Derived. */
  modelAsked: boolean;
  /** True if the model's text came through. Derived. */
  textArrived: boolean;
  /** Whether a permission was asked for before a shell command, if the model could call for one. Derived. */
  asksBeforeShell?: boolean;
  /** The same for a shell command that only reads. Derived. */
  asksBeforeReadOnlyShell?: boolean;
  /** Where it reported how many tokens were used: `usage_update`, `usage`, `_meta.quota` or `chunk._meta.usage`. Derived. */
  usageIn?: string[];
}

/** The result of cancelling a turn. */
export interface CardCancel {
  /** The time from `session/cancel` to the answer, in milliseconds. Derived. */
  ms: number;
  /** Why the turn ended, in the agent's word; missing if it was an error. Upstream. */
  stopReason?: string;
}

/** The agent's answer to an unknown method. */
export interface CardUnknownMethod {
  /** True if there was an answer. Derived. */
  answered: boolean;
  /** The code of the error, if it was one; the protocol prescribes -32601. Upstream. */
  code?: number;
  /** How long it took, or how long was waited, in milliseconds. Derived. */
  ms: number;
}

/** How an agent ended. */
export interface CardShutdown {
  /** The step that it took. Derived. */
  by: ShutdownBy;
  /** How long it took since its stdin was closed, in milliseconds. Derived. */
  ms: number;
}

/**
 * The steps that can make an agent end. Open: readers must accept words that are not listed here.
 * 
 * - `eof`: Its stdin was closed.
 * - `term`: It was asked to, by SIGTERM.
 * - `kill`: It was killed.
 * - `itself`: It had ended before.
 */
export type ShutdownBy = "eof" | "term" | "kill" | "itself" | (string & {});

/** The decision about every tool call, and the use of each rule. */
export interface PolicyReport {
  /** The vocabulary and its version, `lapidary.policy/1`. Derived. */
  schema: string;
  /** The permission mode that decides where no rule does. Derived. */
  permissionMode: string;
  /** The calls, in the order of the recordings. Derived. */
  calls: JudgedCall[];
  /** The rules, in their order. Derived. */
  rules: RuleUse[];
}

/** A call of a past run, and what would have become of it. */
export interface JudgedCall {
  /** The recording that it stands in. Derived. */
  recording: string;
  /** The call's id. Upstream. */
  callId: string;
  /** The tool's name. Upstream. */
  toolName: string;
  /** What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name. */
  kind: ToolKind;
  /** A title for people. Upstream. */
  title?: string;
  /** The command, if it runs one. Derived from the arguments, or the title over ACP. */
  command?: string;
  /** The files and directories that it is about. Derived from the arguments, locations and diffs. */
  paths?: string[];
  /** The MCP server that the tool belongs to. Derived from the tool's name. */
  mcpServer?: string;
  /** What would become of it. Derived. */
  effect: PolicyEffect;
  /** Who would decide. Derived. */
  decidedBy: DecidedBy;
  /** The rule that would decide, named by where it stands; several for a line of several commands. Derived. */
  rule?: string;
  /** The reason, as the agent would get it. Derived. */
  reason: string;
  /**
   * What would stop it with the agent that was asked for, in the order of time. Empty if it would be allowed, or no agent was named.
   * Derived.
   */
  stoppedBy?: StoppedBy[];
  /** What became of it then. Derived. */
  happened: Happened;
  /** The decision at the time, if the agent asked. Derived. */
  answer?: RecordedAnswer;
}

/**
 * What becomes of a call. Open: readers must accept words that are not listed here.
 * 
 * - `allow`: It may be done.
 * - `deny`: It may not.
 * - `ask`: A person or a program has to be asked.
 */
export type PolicyEffect = "allow" | "deny" | "ask" | (string & {});

/**
 * What stops a call that is not allowed. Open: readers must accept words that are not listed here.
 * 
 * - `agent_policy`: The agent's own policy, made of the rules, denies it.
 * - `asked`: The agent is told to ask, and the answer is no.
 * - `watched`: The agent does not ask: the run is stopped once the call is seen to run.
 * - `confinement`: The kernel, if the run is confined: it writes outside the workspace.
 */
export type StoppedBy = "agent_policy" | "asked" | "watched" | "confinement" | (string & {});

/**
 * What became of a call in a past run. Open: readers must accept words that are not listed here.
 * 
 * - `completed`: It was done.
 * - `failed`: It was tried, and failed.
 * - `cancelled`: It was stopped.
 * - `denied`: It was refused.
 * - `unknown`: The recording does not tell.
 */
export type Happened = "completed" | "failed" | "cancelled" | "denied" | "unknown" | (string & {});

/** The decision about a call of a past run. */
export interface RecordedAnswer {
  /** The decision. Derived. */
  decision: PermissionOutcome;
  /** Who decided. Derived; absent where a transcript does not tell. */
  decidedBy?: DecidedBy;
  /** The rule that decided. Derived. */
  rule?: string;
  /** The reason, as the agent got it. Derived. */
  reason?: string;
  /** True if the answer held for the rest of that run. Derived. */
  forRun?: boolean;
}

/** A rule, and how often it decided. */
export interface RuleUse {
  /** Where it stands. Derived. */
  rule: string;
  /** The rule's text. Derived. */
  effect: PolicyEffect;
  /** How many calls it is about. Derived. */
  matched: number;
  /** About how many of them it decides. Derived. */
  decided: number;
  /** The rules that decide instead, if it decides about none of the calls that it is about. Derived. */
  shadowedBy?: string[];
}

/** An agent's own configuration, made from the rules: `lapidary policy compile`. */
export interface CompiledPolicy {
  /** The vocabulary and its version, `lapidary.compiled-policy/1`. Derived. */
  schema: string;
  /** The agent's name. Derived. */
  agent: string;
  /** How rules are kept with it. Derived. */
  keeping: RuleKeeping;
  /** Arguments of its program. Derived. */
  args?: string[];
  /** Variables of its environment. Derived. */
  env?: Record<string, string>;
  /** The content of the file that arguments or variables name. Derived. */
  file?: string;
  /** `_meta` of the request that opens a session. Derived. */
  sessionMeta?: unknown;
  /** Remarks for the user. Derived. */
  notices?: string[];
}

/** What `lapidary sessions list` prints. */
export interface SessionList {
  /** The vocabulary and its version, `lapidary.sessions/1`. Derived. */
  schema: string;
  /** The sessions: project by project, within a project the oldest first. Derived. */
  sessions: SessionInfo[];
  /** How many files are not among them. Derived. */
  hiddenCount: number;
  /** These files, if they were asked for. Derived. */
  hidden?: HiddenFile[];
  /** How many files of each agent were read and skipped; agents without any are left out. Derived. */
  agents?: AgentFileCounts[];
  /** Other problems, a sentence each. Derived. */
  warnings?: string[];
}

/** A session that could be resumed. */
export interface SessionInfo {
  /** The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run. */
  id: string;
  /** The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived. */
  provider: Provider;
  /** The newest recorded run, if the session is in recordings only. Derived. */
  run?: string;
  /** The file's name without `.json` or `.jsonl`. Upstream. */
  file: string;
  /** The file's name. Upstream. */
  fileName: string;
  /** Where the file is, or the directory of the recording. Derived. */
  path: string;
  /** When it began; where the file does not say, when it was listed. Upstream. */
  startTime: string;
  /** When the session was last updated; where the file does not say, when it was listed. Upstream. */
  lastUpdated: string;
  /**
   * How many records of messages the file has since its last checkpoint, as Gemini CLI counts for a list. 0 for a recording,
   * which is not read for a list. Derived.
   */
  messageCount: number;
  /** How many messages of the user's among them, each counted once. Derived. */
  userMessageCount: number;
  /** What to call it: the summary, or else the first message on one line, in its own letters. Derived. */
  displayName: string;
  /** The first message of the user's that has content, on one line, as Gemini CLI shows it: ASCII only. Derived. */
  firstUserMessage: string;
  /** True for the session that this was asked in: inside a hook `$GEMINI_SESSION_ID` names it. Derived. */
  isCurrentSession: boolean;
  /**
   * Its number in the project's list, from 1, the oldest first: what `--resume N` takes. Sessions that Gemini CLI does not list
   * come after its own; sessions in the vault or in recordings only have no number, which is 0. Derived.
   */
  index: number;
  /** Where it is, if Gemini CLI does not list it. Derived. */
  unlisted?: UnlistedPlace;
  /** The title that a model gave it. Upstream. */
  summary?: string;
  /** The project's directory, if it is known. Upstream. */
  project?: string;
  /** The name of the project's directory in `.gemini/tmp`; empty where Gemini CLI has none. Upstream. */
  projectId: string;
  /** The size of the file, or of the recorded agent's output, in bytes. Derived. */
  size: number;
  /** The name of a file without content for which Gemini CLI's next start deletes this session, if its retention is on. Derived. */
  endangeredBy?: string;
}

/**
 * Where a session is that Gemini CLI does not list. Open: readers must accept words that are not listed here.
 * 
 * - `vault`: In the vault only: its file is gone. `lapidary sessions recover` brings it back.
 * - `older_directory`: In the directory of an older version, beside the one that the CLI uses. `lapidary sessions resume` copies it there.
 * - `recording`: In a recording of ours: the agent left no session file that Lapidary knows. `lapidary runs show` shows the run.
 */
export type UnlistedPlace = "vault" | "older_directory" | "recording" | (string & {});

/** A file among the sessions that is not in the list. */
export interface HiddenFile {
  /** Where it is. Derived. */
  path: string;
  /** The name of the project's directory in `.gemini/tmp`. Upstream. */
  projectId: string;
  /** Why it is not in the list. Derived. */
  reason: HiddenReason;
  /** The same in a sentence. Derived. */
  explanation: string;
  /** The id that it names, if it does. Upstream. */
  sessionId?: string;
  /** Its size in bytes. Derived. */
  size: number;
}

/**
 * Why a file is not in the list of sessions. Open: readers must accept words that are not listed here.
 * 
 * - `unreadable`: It cannot be read.
 * - `empty`: It is empty.
 * - `not_a_session`: It names no session.
 * - `no_content`: It has no message that could be resumed.
 * - `subagent`: A sub-agent wrote it.
 * - `duplicate`: Another file of the same session is newer.
 * - `not_a_file`: It is a directory, a pipe or a device.
 * - `link_outside`: It is a link to a place outside.
 * - `too_large`: It is too large to be read.
 */
export type HiddenReason =
  | "unreadable"
  | "empty"
  | "not_a_session"
  | "no_content"
  | "subagent"
  | "duplicate"
  | "not_a_file"
  | "link_outside"
  | "too_large"
  | (string & {});

/** How many files of an agent were read and skipped for a list. */
export interface AgentFileCounts {
  /** Whose files: an agent, or `recordings`. Derived. */
  provider: string;
  /** Files, or rows of a database, with a session in the list's projects, before `--agent`, `--since`, `--until` and `--last`. Derived. */
  read: number;
  /** Files that are not listed. Derived. */
  skipped: number;
  /** The skipped files by their reasons. Derived. */
  reasons?: Record<string, number>;
}

/** What `lapidary sessions search` prints. */
export interface SearchResult {
  /** The vocabulary and its version, `lapidary.search/1`. Derived. */
  schema: string;
  /** How many sessions were found, shown or not. Derived. */
  total: number;
  /** The sessions, the best first. Derived. */
  hits: SearchHit[];
  /** Other problems, a sentence each. Derived. */
  warnings?: string[];
}

/** A session in which everything was found that was looked for. */
export interface SearchHit {
  /** The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run. */
  id: string;
  /** The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived. */
  provider: Provider;
  /** The newest recorded run, if the session is in recordings only. Derived. */
  run?: string;
  /** What to call it: the summary, or else the first message on one line, in its own letters. Derived. */
  displayName: string;
  /** The file's name. Upstream. */
  fileName: string;
  /** Where the file is. Derived. */
  path: string;
  /** When it began; where the file does not say, when it was looked for. Upstream. */
  startTime: string;
  /** When the session was last updated; where the file does not say, when it was looked for. Upstream. */
  lastUpdated: string;
  /** How many records of messages the file has since its last checkpoint. Derived. */
  messageCount: number;
  /** The project's directory, if it is known. Upstream. */
  project?: string;
  /** The name of the project's directory in `.gemini/tmp`. Upstream. */
  projectId: string;
  /** Where it is, if Gemini CLI does not list it. Derived. */
  unlisted?: UnlistedPlace;
  /** True if everything is in the title. Derived. */
  isInTitle: boolean;
  /** How many texts of the session match: prompts, answers, thoughts, inputs and outputs of tools. Derived. */
  matchingTexts: number;
  /** Some of the places. Derived. */
  matchSnippets: TextMatch[];
}

/** A place where a search matched. */
export interface TextMatch {
  /** The text before the match. Upstream. */
  before: string;
  /** The match. Upstream. */
  match: string;
  /** The text after the match. Upstream. */
  after: string;
  /** Who said it: `user`, `assistant`, `tool`, `notice` (Gemini CLI itself), or `title`. Derived. */
  role: string;
  /** The tool, where it is a tool's input or output. Upstream. */
  tool?: string;
  /** The number of the message in the session, from 1; absent for the title. Derived. */
  message?: number;
}

/** A session, whole. */
export interface SessionDocument {
  /** The vocabulary and its version, `lapidary.session/1`. Derived. */
  schema: string;
  /** The facts about the session beside its messages. Upstream. */
  info: DocumentInfo;
  /** True if secrets and home directories were taken out; placeholders may stand in their place. Derived. */
  redacted: boolean;
  /** How many records of the file are not among the messages, because they were superseded, rewound or could not be read. Derived. */
  leftOut: number;
  /** The messages, in order. Derived. */
  messages: Message[];
}

/** The facts about a session. */
export interface DocumentInfo {
  /** The session's id. Upstream. */
  id?: string;
  /** The agent's family. Derived. */
  provider: string;
  /** When it began. Upstream. */
  startTime?: string;
  /** When the session was last updated. Upstream. */
  lastUpdated?: string;
  /** The title that a model gave it. Upstream. */
  summary?: string;
  /** All that the file says of the session, as it stands. Upstream. */
  metadata: unknown;
}

/** Sessions that were removed, or would be. */
export interface Removal {
  /** The vocabulary and its version, `lapidary.removal/1`. Derived. */
  schema: string;
  /** Whether files were removed: false if this report is a preview. Derived. */
  applied: boolean;
  /** The sessions, and the files that belong to none. Derived. */
  removed: RemovedSession[];
  /** How many of the examined sessions stay. Derived. */
  kept: number;
  /** How many bytes go. Derived. */
  bytes: number;
  /** Files that could not be removed, a sentence each. Derived. */
  failures?: string[];
  /** Other problems, a sentence each. Derived. */
  warnings?: string[];
}

/** A session that goes, with all that belongs to it. */
export interface RemovedSession {
  /** The session's id, whole; absent for a file that names none. Upstream. */
  id?: string;
  /** The session's title in a list. Derived. */
  displayName?: string;
  /** When a message was last added, or its newest file was written. Derived. */
  lastUpdated?: string;
  /** The project's directory, if it is known. Upstream. */
  project?: string;
  /** The name of the project's directory in `.gemini/tmp`. Upstream. */
  projectId: string;
  /** Why it goes. Derived. */
  reason: RemovalReason;
  /** The files of the session: every one that names its id. Derived. */
  files: string[];
  /** What else belongs to it: outputs of tools, logs, plans, sub-agents. Derived. */
  artefacts: string[];
  /** How many bytes all that is. Derived. */
  bytes: number;
}

/**
 * Why a session goes. Open: readers must accept words that are not listed here.
 * 
 * - `asked`: The user named it.
 * - `too_old`: Nothing was added to it for longer than `maxAge`.
 * - `too_many`: There are more than `maxCount` that are newer.
 * - `no_content`: There is nothing in it that could be resumed.
 * - `not_a_session`: It is a file that names no session.
 * - `empty`: It is an empty file.
 * - `subagent`: A sub-agent wrote it, and it lies where no list shows it.
 */
export type RemovalReason =
  | "asked"
  | "too_old"
  | "too_many"
  | "no_content"
  | "not_a_session"
  | "empty"
  | "subagent"
  | (string & {});

/** How much was said and done. */
export interface Stats {
  /** The vocabulary and its version, `lapidary.stats/1`. Derived. */
  schema: string;
  /** Sessions that contribute to a count, each once however many files it has. Derived. */
  sessions: number;
  /** Sessions of sub-agents among the files; their messages and tokens are counted, too. Derived. */
  subagents: number;
  /** Messages that users wrote, without commands and the CLI's messages in the user's name. Derived. */
  turns: number;
  /** Messages of any kind, each once. Derived. */
  messages: number;
  /** Answers of a model. Derived. */
  answers: number;
  /** Answers whose tokens are unknown. Derived. */
  answersWithoutTokens: number;
  /** Calls of tools. Derived. */
  toolCalls: number;
  /** Those of them that failed. Derived. */
  toolErrors: number;
  /** The tokens of all answers, rewound ones included: they were used, too. Upstream. */
  tokens: TokenCounts;
  /** The cost of the answers with a known price, in US dollars. Absent if no price is known. Derived. */
  cost?: number;
  /** Tokens without a known price; they are not in `cost`. Derived. */
  unpricedTokens: number;
  /** The day of which the prices are: the earliest of `priceSources`, or that of the user's own table. Derived. */
  pricesAsOf: string;
  /** The places that the prices in `cost` come from. Derived. */
  priceSources?: PriceSource[];
  /** By model, the most used first. Derived. */
  models: ModelStats[];
  /** By agent, the one with the most sessions first. Derived. */
  providers?: ProviderStats[];
  /** By project, the one with the most tokens first. Derived. */
  projects?: ProjectStats[];
  /** By day (UTC), the earliest first. Derived. */
  days: DayStats[];
  /** Tokens by day, agent, project and model, in this order. Derived. */
  usage?: UsageRow[];
  /** By tool, the most used first. Derived. */
  tools: ToolStats[];
  /** Messages without a time, which are in no day. Derived. */
  undated: number;
  /** Other problems, a sentence each. Derived. */
  warnings?: string[];
}

/** How many tokens. */
export interface TokenCounts {
  /** Read, the cached ones included. Upstream. */
  input: number;
  /** Written, thoughts not included. Upstream. */
  output: number;
  /** Those read that were cached. Upstream. */
  cached: number;
  /** Those read that were written to a cache, which costs more than reading them. Upstream. */
  cacheWritten: number;
  /** Those of them that the cache keeps for an hour, which costs still more. Upstream. */
  cacheWritten1h: number;
  /** Thought. Upstream. */
  thoughts: number;
  /** Read of what tools of the API's own put out. Upstream. */
  tool: number;
  /** All together. Upstream. */
  total: number;
}

/** A place that prices come from. */
export interface PriceSource {
  /** The day of which the prices are; empty in the user's own table without a date. Derived. */
  asOf: string;
  /** An address, or the user's own table. Derived. */
  source: string;
}

/** What one model did. */
export interface ModelStats {
  /** The model; absent for answers that do not name theirs. Upstream. */
  model?: string;
  /** Its answers. Derived. */
  answers: number;
  /** Its tokens. Upstream. */
  tokens: TokenCounts;
  /** The cost in US dollars; absent if the price is not known. Derived. */
  cost?: number;
}

/** What one agent did. */
export interface ProviderStats {
  /** The agent's family, such as `gemini` or `claude`. Derived. */
  provider: Provider;
  /** Its sessions, those of sub-agents not included. Derived. */
  sessions: number;
  /** Answers of its models. Derived. */
  answers: number;
  /** Their tokens. Upstream. */
  tokens: TokenCounts;
  /** Their cost in US dollars, where the price is known. Derived. */
  cost?: number;
}

/** What happened in one project. */
export interface ProjectStats {
  /** The project's directory; absent for sessions that do not name theirs. Upstream. */
  project?: string;
  /** Its sessions, those of sub-agents not included. Derived. */
  sessions: number;
  /** Answers of models. Derived. */
  answers: number;
  /** Their tokens. Upstream. */
  tokens: TokenCounts;
  /** Their cost in US dollars, where the price is known. Derived. */
  cost?: number;
}

/** What happened on a day. */
export interface DayStats {
  /** The day (UTC). Derived. */
  date: string;
  /** Messages that users wrote. Derived. */
  turns: number;
  /** Messages of any kind. Derived. */
  messages: number;
  /** Tokens. Upstream. */
  tokens: TokenCounts;
  /** The cost in US dollars, where the price is known. Derived. */
  cost?: number;
}

/** The tokens of one agent and one model in one project on one day. */
export interface UsageRow {
  /** The day (UTC); absent for answers without a time. Derived. */
  date?: string;
  /** The agent's family, such as `gemini` or `claude`. Derived. */
  provider: Provider;
  /** The project's directory, if the session names it. Upstream. */
  project?: string;
  /** The model, if the answer names it. Upstream. */
  model?: string;
  /** Answers. Derived. */
  answers: number;
  /** Their tokens. Upstream. */
  tokens: TokenCounts;
  /** Their cost in US dollars; absent if the price is not known. Derived. */
  cost?: number;
}

/** What one tool was used for. */
export interface ToolStats {
  /** The tool's name. Upstream. */
  name: string;
  /** How often it was called. Derived. */
  calls: number;
  /** How often it failed. Derived. */
  errors: number;
  /** How often a call was called off. Derived. */
  cancelled: number;
}

/** What each command of `lapidary sessions vault` prints. */
export interface VaultReport {
  /** The vocabulary and its version, `lapidary.vault/1`. Derived. */
  schema: string;
  /** Where the vault is. Derived. */
  vault: string;
  /** `add`, `log`, `verify`, `restore` or `prune`. Derived. */
  verb: string;
  /** False if this only says what would be done. Derived. */
  applied: boolean;
  /** The snapshots that were asked for, or taken, the oldest first. Derived. */
  snapshots?: VaultSnapshot[];
  /** Sessions of which no file is left, for `log`. Derived. */
  onlyInVault?: VaultSession[];
  /** The restored files, or with a dry run the files to be restored. Derived. */
  restored?: RestoredFile[];
  /** How sound it is, for `verify`. Derived. */
  soundness?: Soundness;
  /** What was removed, or would be, for `prune`. Derived. */
  pruned?: PrunedContents;
  /** What else was done, or was wrong, a sentence each. Derived. */
  warnings?: string[];
}

/** Session files of one project at one time. */
export interface VaultSnapshot {
  /** The session's title. Derived. */
  id: string;
  /** When it was taken. Derived. */
  time: string;
  /** What for. Derived. */
  reason: string;
  /** The directory that the paths start from. Derived. */
  project: string;
  /** The files, by path. Derived. */
  files: VaultFile[];
}

/** A file in a snapshot. */
export interface VaultFile {
  /** Where it lay, from the project's directory on. Derived. */
  path: string;
  /** Its size in bytes. Derived. */
  size: number;
  /** When it was last changed. Upstream. */
  mtime: string;
  /** The SHA-256 of its content. Derived. */
  sha256: string;
  /** The session's whole id, if it says one. Upstream. */
  sessionId?: string;
  /** True if Gemini CLI would have listed it. Derived. */
  listed: boolean;
}

/** A session that is in the vault only. */
export interface VaultSession {
  /** Its whole id. Upstream. */
  sessionId: string;
  /** What to call it: the summary, or else the first message. Derived. */
  displayName: string;
  /** When the session was last updated. Upstream. */
  lastUpdated: string;
  /** The name of the project's directory in `.gemini/tmp`; empty for another agent. Upstream. */
  projectId: string;
  /** The agent, if it is not Gemini CLI. Derived. */
  provider?: Provider;
  /** Where its file was. Derived. */
  path?: string;
  /** When the last snapshot that has it was taken. Derived. */
  lastSeen?: string;
  /** When the first snapshot was taken that does not have it any more. Derived. */
  missingSince?: string;
}

/** A file that was brought back, or would be. */
export interface RestoredFile {
  /** Where it is now. Derived. */
  path: string;
  /** How it was restored. Derived. */
  how: RestoredHow;
  /** The file in the vault. Derived. */
  file: VaultFile;
}

/**
 * Ways in which a file is restored. Open: readers must accept words that are not listed here.
 * 
 * - `written`: It was gone, and is back under its name.
 * - `already_there`: It had never gone.
 * - `beside`: Another content has its name now: it lies next to it.
 */
export type RestoredHow = "written" | "already_there" | "beside" | (string & {});

/** Whether the vault's contents are as its list says. */
export interface Soundness {
  /** True if everything that a snapshot names can be brought back. Derived. */
  sound: boolean;
  /** How many snapshots can be read. Derived. */
  snapshots: number;
  /** How many contents are sound. Derived. */
  contents: number;
  /** Their bytes in all. Derived. */
  bytes: number;
  /** Contents that changed or are missing. Derived. */
  damaged: DamagedContent[];
  /** Snapshots that cannot be read. Derived. */
  unreadable: string[];
  /** How many contents no snapshot names. Derived. */
  unreferenced: number;
}

/** A content that cannot be brought back. */
export interface DamagedContent {
  /** Its SHA-256. Derived. */
  sha256: string;
  /** True if it is not there at all. Derived. */
  missing: boolean;
  /** The files that had it, by where they lay. Derived. */
  files: string[];
  /** Their sessions. Derived. */
  sessionIds: string[];
}

/** What was removed from the vault, or would be. */
export interface PrunedContents {
  /** Contents that a newer one of the same session begins with: they can still be brought back. Derived. */
  contained: number;
  /** Contents that were too old or too many. Derived. */
  dropped: number;
  /** Contents that no snapshot named. Derived. */
  unreferenced: number;
  /** Snapshots of which nothing was left. Derived. */
  snapshots: number;
  /** Bytes that are free then. Derived. */
  freed: number;
  /** Bytes that are left. Derived. */
  left: number;
}

/** What `lapidary sessions recover` prints. */
export interface RecoverReport {
  /** The vocabulary and its version, `lapidary.recover/1`. Derived. */
  schema: string;
  /** False if this only says what would come back. Derived. */
  applied: boolean;
  /** How many files were looked at. Derived. */
  looked: number;
  /** The recovered contents, session by session. Derived. */
  sessions: RecoveredSession[];
  /** Files without content that Gemini CLI's next start would delete together with a conversation; they go into the vault. Derived. */
  dangers?: string[];
  /** Sessions of which no file is left that could be resumed: each comes back when it is named. Derived. */
  onlyInVault?: VaultSession[];
  /** What else was done, a sentence each. Derived. */
  actions?: string[];
  /** Problems, a sentence each. Derived. */
  warnings?: string[];
}

/** A session of which messages come back. */
export interface RecoveredSession {
  /** Its whole id, or the one that it gets if nothing in it says one. Upstream. */
  sessionId: string;
  /** The file that hides it. Derived. */
  path: string;
  /** The file that it is in now. Derived. */
  recoveredPath?: string;
  /** True if the content is the vault's, since no file holds any of it. Derived. */
  fromVault: boolean;
  /** How many messages Gemini CLI shows before. Derived. */
  shown: number;
  /** How many it has then. Derived. */
  total: number;
  /** Messages that get fields back, such as tokens and tool calls. Derived. */
  poorer: number;
  /** Why they are hidden: `clobbered`, `unknown_rewind`, `torn_line`, `compressed`, `rewound`, `no_header`, or `deleted` by the agent. Derived. */
  causes: string[];
  /** The messages that come back, in order. Derived. */
  found: FoundMessage[];
}

/** A message that comes back. */
export interface FoundMessage {
  /** `user`, `gemini` and so on. Upstream. */
  type: string;
  /** When it was written. Upstream. */
  timestamp?: string;
  /** How it begins. Upstream. */
  words: string;
}

/** What `lapidary skills list` prints. */
export interface SkillList {
  /** The vocabulary and its version, `lapidary.skills/1`. Derived. */
  schema: string;
  /** The skills in the order in which Gemini CLI lists them: by name, built-in ones last. Derived. */
  skills: SkillInfo[];
  /** Other problems, a sentence each. Derived. */
  warnings?: string[];
  /** Skills that are not in the list and why, a sentence each. Derived. */
  notes?: string[];
}

/** A skill that counts, or would if it were not disabled. */
export interface SkillInfo {
  /** Its name, with a dash for what no file name may hold. Upstream. */
  name: string;
  /** The skill's description. Upstream. */
  description: string;
  /** Its `SKILL.md`. Derived. */
  location: string;
  /** Where it was found. Derived. */
  tier: SkillTier;
  /** Whether a settings file disables it. Derived. */
  disabled: boolean;
  /** Whether it comes with Gemini CLI. Derived. */
  isBuiltin: boolean;
  /** The extension that it comes with. Upstream. */
  extensionName?: string;
}

/**
 * Where skills are found, the weakest first. Open: readers must accept words that are not listed here.
 * 
 * - `builtin`: With Gemini CLI.
 * - `extension`: In an extension.
 * - `user`: In `~/.gemini/skills`.
 * - `user_agents`: In `~/.agents/skills`.
 * - `workspace`: In the workspace's `.gemini/skills`.
 * - `workspace_agents`: In the workspace's `.agents/skills`.
 */
export type SkillTier = "builtin" | "extension" | "user" | "user_agents" | "workspace" | "workspace_agents" | (string & {});

/** What `lapidary skills check` prints. */
export interface SkillCheck {
  /** The vocabulary and its version, `lapidary.skills-check/1`. Derived. */
  schema: string;
  /** Each file that is a skill or could be one, place by place, the weakest place first. Derived. */
  candidates: SkillCandidate[];
  /** How many of them count. Derived. */
  loaded: number;
  /** About how many tokens their names and descriptions take in every prompt. Derived. */
  listedTokens: number;
  /** Why none counts, if a setting says so. Derived. */
  switchedOff?: string;
  /** Files that cannot be used beside the candidates, such as settings that are not JSON, a sentence each. Derived. */
  errors?: string[];
  /** What else was wrong, a sentence each. Derived. */
  warnings?: string[];
}

/** A file that is a skill, or could be one. */
export interface SkillCandidate {
  /** The file, or the directory that has none. Derived. */
  path: string;
  /** Where it was found. Derived. */
  tier: SkillTier;
  /** The skill's name, if it is a skill. Upstream. */
  name?: string;
  /** What became of it. Derived. */
  fate: SkillFate;
  /** How bad that is; absent if it is loaded or disabled. Derived. */
  severity?: SkillSeverity;
  /** Why, if it does not count: a sentence. Derived. */
  explanation?: string;
  /** The settings files that disable it. Derived. */
  disabledBy?: string[];
  /** The skill that counts in its place. Derived. */
  overriddenBy?: string;
  /** Another candidate that is the same file, reached on another way. Derived. */
  sameFileAs?: string;
  /** Where the link leads that it is, or that its directory is. Derived. */
  linksTo?: string;
  /** Why its front matter was read line by line, which keeps quotes and the like as they stand. Derived. */
  notYaml?: string;
  /** About how many tokens its name and description take in every prompt. Derived. */
  listedTokens?: number;
  /** About how many tokens it takes once it is activated. Derived. */
  activatedTokens?: number;
}

/**
 * What became of a file that could be a skill. Open: readers must accept words that are not listed here.
 * 
 * - `loaded`: It counts.
 * - `disabled`: It is on a list of disabled skills.
 * - `overridden`: Another of the same name counts.
 * - `left_out`: It is a skill in a place that does not count.
 * - `refused`: It is where a skill should be, and is none.
 * - `not_looked_for`: It has a place or a file name where Gemini CLI does not look for skills.
 */
export type SkillFate = "loaded" | "disabled" | "overridden" | "left_out" | "refused" | "not_looked_for" | (string & {});

/**
 * How serious it is that a file is not a skill that counts. Open: readers must accept words that are not listed here.
 * 
 * - `error`: It should be one, and is none.
 * - `warning`: It may be meant so.
 */
export type SkillSeverity = "error" | "warning" | (string & {});

/** What `lapidary skills enable`, `disable`, `install`, `link` and `uninstall` changed. */
export interface SkillChange {
  /** The vocabulary and its version, `lapidary.skills-change/1`. Derived. */
  schema: string;
  /** The requested change. Derived. */
  action: SkillAction;
  /** The skill that was named. Derived. */
  name?: string;
  /** Where skills came from, as it was named, without a password. Derived. */
  source?: string;
  /** Whose settings or skills were to change; absent for both. Derived. */
  scope?: SkillScope;
  /** Whether a file was written: false if no change was needed. Derived. */
  applied: boolean;
  /** The settings files that changed. Derived. */
  changed?: string[];
  /** The skills that came or went. Derived. */
  skills?: MovedSkill[];
  /** Remarks for the user, a sentence each. Derived. */
  remarks?: string[];
}

/**
 * Changes to skills that a command can make. Open: readers must accept words that are not listed here.
 * 
 * - `enable`: One was to be taken off the lists of disabled ones.
 * - `disable`: One was to be put on a list of disabled ones.
 * - `install`: Skills were to be copied.
 * - `link`: Skills were to be linked.
 * - `uninstall`: One was to be removed.
 */
export type SkillAction = "enable" | "disable" | "install" | "link" | "uninstall" | (string & {});

/**
 * Whose settings or skills. Open: readers must accept words that are not listed here.
 * 
 * - `user`: The user's.
 * - `workspace`: The workspace's.
 */
export type SkillScope = "user" | "workspace" | (string & {});

/** A skill that came or went. */
export interface MovedSkill {
  /** Its name. Upstream. */
  name: string;
  /** Its directory, or the link to it. Derived. */
  location: string;
  /** Whether it replaced a skill of that name. Derived. */
  replaced: boolean;
}

/** The hooks of a workspace. */
export interface HookList {
  /** The vocabulary and its version, `lapidary.hooks/1`. Derived. */
  schema: string;
  /** The workspace. Derived. */
  workspace: string;
  /** Whether the workspace is trusted. In one that is not, no hook of any settings runs. Derived. */
  trusted: boolean;
  /** The hooks that could run, in the order in which they would. Derived. */
  hooks: HookInfo[];
  /** Definitions that do not count. Derived. */
  leftOut: LeftOutHook[];
  /** The files that switch off all hooks. Derived. */
  switchedOffBy?: string[];
  /** What Gemini CLI says when it starts with these hooks. Derived. */
  warnings?: string[];
  /** Remarks about the settings that hold them, a sentence each. Derived. */
  notices?: string[];
}

/** A hook that could run. */
export interface HookInfo {
  /** The event it is for. Upstream. */
  event: string;
  /** Its name for people, also for `enable` and `disable`: its `name`, else its command. Upstream. */
  name: string;
  /** The author's description. Upstream. */
  description?: string;
  /** The command line for the shell. Upstream. */
  command: string;
  /** When it runs; absent if always. Upstream. */
  matcher?: string;
  /** How many milliseconds it may take. Upstream, or Gemini CLI's default. */
  timeoutMs: number;
  /** Whether it makes the hooks of its event run one after the other. Upstream. */
  sequential: boolean;
  /** Whether a call goes on where the hook did not end by itself: its `failOpen`. Upstream. */
  failOpen?: boolean;
  /** Whether it runs. Derived. */
  enabled: boolean;
  /** Why it never runs though it is switched on: its matcher can match nothing. Derived. */
  neverRuns?: string;
  /** The files that switch it off. Derived. */
  disabledBy?: string[];
  /** What Gemini CLI takes it for: `project` for all settings, `extensions`. Derived. */
  source: string;
  /** Whose settings it is really in. Derived. */
  scope?: HookScope;
  /** The extension it comes with. Upstream. */
  extension?: string;
  /** The file it is written in. Derived. */
  path: string;
  /** The keys and positions that lead to it in that file. Derived. */
  keys: string[];
}

/**
 * Whose settings a hook is in. Open: readers must accept words that are not listed here.
 * 
 * - `system_defaults`: The system's defaults.
 * - `user`: The user's.
 * - `workspace`: The workspace's.
 * - `system`: The system's, which overrule all others.
 */
export type HookScope = "system_defaults" | "user" | "workspace" | "system" | (string & {});

/** A hook, event or file among the hooks that does not count. */
export interface LeftOutHook {
  /** The skipped item: a hook, an event, a file. Upstream. */
  what: string;
  /** The file it is written in. Derived. */
  path: string;
  /** The keys and positions that lead to it in that file. Derived. */
  keys: string[];
  /** Why, in one sentence. Derived. */
  reason: string;
}

/** The problems of hooks as they are written. */
export interface HookCheck {
  /** The vocabulary and its version, `lapidary.hooks-check/1`. Derived. */
  schema: string;
  /** The workspace. Derived. */
  workspace: string;
  /** How many findings are errors. Derived. */
  errors: number;
  /** How many are warnings. Derived. */
  warnings: number;
  /** All of them, the worst first. Derived. */
  findings: HookFinding[];
}

/** A finding about a hook. */
export interface HookFinding {
  /** How bad it is. Derived. */
  severity: HookSeverity;
  /** What sort of thing it is, in a word that stays the same. Derived. */
  code: string;
  /** The file: settings, an extension's, or a script. Derived. */
  path: string;
  /** The line in it, from one. Derived. */
  line?: number;
  /** The letter in the line, from one. Derived. */
  column?: number;
  /** The hook or event it is about. Upstream. */
  subject: string;
  /** The problem, as a sentence. Derived. */
  message: string;
  /** What to do about it. Derived. */
  hint?: string;
}

/**
 * How bad a finding is. Open: readers must accept words that are not listed here.
 * 
 * - `error`: A hook's behaviour differs from its definition.
 * - `warning`: It may not.
 * - `note`: It does, with an effect that may be unexpected.
 */
export type HookSeverity = "error" | "warning" | "note" | (string & {});

/** What `hooks enable`, `hooks disable` and `hooks migrate` changed, or would change. */
export interface HookChange {
  /** The vocabulary and its version, `lapidary.hooks-change/1`. Derived. */
  schema: string;
  /** The requested change. Derived. */
  action: HookAction;
  /** The hook that was named. Derived. */
  name?: string;
  /** Whether a file was written: false if this report is a preview, or if no change was needed. Derived. */
  applied: boolean;
  /** The files that changed, or would. Derived. */
  changed: string[];
  /** Hooks that were added, or would be. Derived. */
  added?: AddedHook[];
  /** Hooks that have no translation, a sentence each. Derived. */
  skipped?: string[];
  /** Points that the user should check, a sentence each. Derived. */
  remarks?: string[];
}

/**
 * The requested change. Open: readers must accept words that are not listed here.
 * 
 * - `enable`: A hook was to be enabled.
 * - `disable`: A hook was to be disabled.
 * - `migrate`: Hooks of another agent were to be added.
 */
export type HookAction = "enable" | "disable" | "migrate" | (string & {});

/** A hook that was added to settings. */
export interface AddedHook {
  /** The event it is for. Derived. */
  event: string;
  /** When it runs; absent if always. Derived. */
  matcher?: string;
  /** The command line for the shell. Derived. */
  command: string;
  /** Its timeout in milliseconds, if there is one. Derived. */
  timeoutMs?: number;
}

/** The hooks of an event, tried out. */
export interface HookTest {
  /** The vocabulary and its version, `lapidary.hooks-test/1`. Derived. */
  schema: string;
  /** The event, such as `BeforeTool`. Upstream. */
  event: string;
  /** What happened at each moment: one, or as many as a recording has. Derived. */
  moments: HookMoment[];
  /** Why no hook of any settings ran, if the folder is not trusted and there are such hooks: the test says nothing about them. Derived. */
  untrusted?: string;
  /** Definitions that do not count, and why, a sentence each. Derived. */
  leftOut?: string[];
  /** Remarks about the settings, a sentence each. Derived. */
  warnings?: string[];
}

/** A moment at which hooks run. */
export interface HookMoment {
  /** What matchers were compared with: a tool's name, or the word of a session's event. Upstream. */
  context?: string;
  /** The input of the hooks. Upstream and derived, as the CLI would send it. */
  payload: unknown;
  /** How they follow one another. Derived. */
  order: HookOrder;
  /** The hooks that ran, in the order of the plan. Derived. */
  hooks: HookTrial[];
  /** The others of the event, and why each did not run. Derived. */
  notRun?: HookNotRun[];
  /** Their combined answer; absent if none of them answered. Derived. */
  aggregate?: unknown;
  /** The effects, in this order. Derived. */
  effects: HookEffect[];
  /** Points where the CLI's decision is unknown, a sentence each. Derived. */
  diagnostics?: string[];
}

/**
 * How hooks of a plan follow one another. Open: readers must accept words that are not listed here.
 * 
 * - `parallel`: All at once.
 * - `sequential`: One after the other.
 */
export type HookOrder = "parallel" | "sequential" | (string & {});

/** A hook that was tried out. */
export interface HookTrial {
  /** Its name, or else its command. Upstream. */
  hook: string;
  /** Its command. Upstream. */
  command: string;
  /** The file it is written in. Derived. */
  origin: string;
  /** The source that it counts as: `project`, `extensions`, … Derived. */
  source: string;
  /** When it runs, as it is written. Upstream. */
  matcher?: string;
  /** How long it may take, in milliseconds. Upstream. */
  timeoutMs: number;
  /** Its input, if a hook before it had changed that. Upstream and derived. */
  payload?: unknown;
  /** Its exit code. Upstream. */
  exitCode?: number;
  /** The signal that ended it. Upstream. */
  signal?: number;
  /** How long it took, in milliseconds. Derived. */
  durationMs: number;
  /** The hook's standard output. Upstream. */
  stdout: string;
  /** The hook's standard error. Upstream. */
  stderr: string;
  /** The number of bytes of output beyond the kept ones. Derived. */
  leftOutBytes?: number;
  /** How its answer was read; absent if it has none. Derived. */
  format?: HookFormat;
  /** Its answer. Derived from its output and its exit code. */
  output?: unknown;
  /** True if Gemini CLI would have let the call pass that this answer refuses. Derived. */
  stricter: boolean;
  /** True if it was ended because it took too long. Derived. */
  timedOut: boolean;
  /** Why it has no answer, if it should have one. Derived. */
  error?: string;
}

/**
 * How a hook's answer was read. Open: readers must accept words that are not listed here.
 * 
 * - `json`: As JSON.
 * - `text`: As text, which its exit code gives a meaning.
 */
export type HookFormat = "json" | "text" | (string & {});

/** A hook of the event that did not run. */
export interface HookNotRun {
  /** Its name, or else its command. Upstream. */
  hook: string;
  /** The file it is written in. Derived. */
  origin: string;
  /** Why: a file switches it off, its matcher does not match, or the same hook ran already. Derived. */
  reason: string;
}

/** An effect of the hooks' answers. */
export interface HookEffect {
  /** What. Derived. */
  effect: HookEffectKind;
  /** In words: a reason, a context, a message, a prompt. Upstream. */
  text?: string;
  /** With what: arguments, a request, an answer, tools. Upstream. */
  value?: unknown;
}

/**
 * An effect of the hooks' answers. Open: readers must accept words that are not listed here.
 * 
 * - `stop`: Everything ends here.
 * - `block`: It does not happen, or is not passed on.
 * - `ask`: The user is asked.
 * - `replace_tool_input`: The tool gets other arguments.
 * - `add_context`: Context is added for the model.
 * - `run_another_tool`: Another tool runs, and its result takes the place of this one's.
 * - `go_on`: The agent goes on with a prompt.
 * - `forget_context`: The conversation so far is forgotten.
 * - `replace_request`: The model gets another request.
 * - `replace_response`: The model's answer is another one.
 * - `select_tools`: The model may call certain tools.
 * - `tell`: The user gets a message.
 */
export type HookEffectKind =
  | "stop"
  | "block"
  | "ask"
  | "replace_tool_input"
  | "add_context"
  | "run_another_tool"
  | "go_on"
  | "forget_context"
  | "replace_request"
  | "replace_response"
  | "select_tools"
  | "tell"
  | (string & {});

/** What `lapidary agents list` prints. */
export interface AgentList {
  /** The vocabulary and its version, `lapidary.agents/1`. Derived. */
  schema: string;
  /** Programs that `--agent` starts. Derived. */
  programs: AgentProgram[];
  /** Definitions, in the order of their precedence. Derived. */
  definitions: AgentInfo[];
  /** Problems, a sentence each. Derived. */
  warnings?: string[];
  /** Definitions that are not in the list and why, a sentence each. Derived. */
  notes?: string[];
}

/** A program that `--agent` starts. */
export interface AgentProgram {
  /** The name that `--agent` takes. Derived. */
  name: string;
  /** Whether it was found here; true for an agent with a `url`. Derived. */
  installed: boolean;
  /** The address of a remote agent, without credentials. Derived. */
  url?: string;
  /** The program. Derived. */
  path?: string;
  /** Its version, if its package says so. Upstream. */
  version?: string;
}

/** A definition of an agent that a model can call. */
export interface AgentInfo {
  /** Its name. Upstream. */
  name: string;
  /** Its name for people. Upstream. */
  displayName?: string;
  /** The agent's purpose. Upstream. */
  description: string;
  /** Where it runs. Derived. */
  kind: AgentKind;
  /** Where it was found. Derived. */
  source: AgentOrigin;
  /** The extension that it comes with. Upstream. */
  extensionName?: string;
  /** Its file. Derived. */
  path?: string;
  /** Whether it counts. Derived. */
  state: AgentStanding;
  /** Why it does not count: a sentence. Derived. */
  reason?: string;
  /** Its model; `inherit` stands for the model of its caller. Upstream. */
  model?: string;
  /** The turns that it may take. Upstream, or the default. */
  maxTurns?: number;
  /** The minutes that it may take. Upstream, or the default. */
  maxTimeMinutes?: number;
  /** Its tools; absent for all tools of its caller. Upstream. */
  tools?: string[];
}

/**
 * Where an agent runs. Open: readers must accept words that are not listed here.
 * 
 * - `local`: In this process.
 * - `remote`: On another server, called over A2A.
 */
export type AgentKind = "local" | "remote" | (string & {});

/**
 * Where a definition was found, the strongest first. Open: readers must accept words that are not listed here.
 * 
 * - `builtin`: It comes with the program.
 * - `project`: In the workspace's `.gemini/agents`.
 * - `user`: In `~/.gemini/agents`.
 * - `extension`: In an extension.
 * - `library`: A program registered it.
 */
export type AgentOrigin = "builtin" | "project" | "user" | "extension" | "library" | (string & {});

/**
 * Whether a definition counts. Open: readers must accept words that are not listed here.
 * 
 * - `active`: It counts.
 * - `disabled`: Settings disable it.
 * - `unacknowledged`: It was not acknowledged as it is now.
 * - `untrusted`: The workspace is not trusted.
 * - `inactive_extension`: Its extension is not active.
 * - `duplicate`: Another definition of its name came first.
 * - `incomplete`: It has no name or no description.
 * - `switched_off`: A setting switches off all agents.
 */
export type AgentStanding =
  | "active"
  | "disabled"
  | "unacknowledged"
  | "untrusted"
  | "inactive_extension"
  | "duplicate"
  | "incomplete"
  | "switched_off"
  | (string & {});

/** What `lapidary agents show` prints: a definition after its overrides. */
export interface AgentShown {
  /** The vocabulary and its version, `lapidary.agent/1`. Derived. */
  schema: string;
  /** The definition in short. Derived. */
  agent: AgentInfo;
  /** Its system prompt. Upstream. */
  systemPrompt?: string;
  /** Its first user message. Upstream. */
  query?: string;
  /** The JSON Schema of its inputs. Upstream. */
  inputSchema: unknown;
  /** The argument of `complete_task` that holds its result. Upstream. */
  outputName?: string;
  /** The JSON Schema of its result. Upstream. */
  outputSchema?: unknown;
  /** The parameters of its model requests. Upstream. */
  generateContentConfig?: unknown;
  /** The names of its own MCP servers. Upstream. */
  mcpServers?: string[];
  /** The address of a remote agent's card. Upstream. */
  agentCardUrl?: string;
  /** The inline card of a remote agent. Upstream. */
  agentCardJson?: string;
  /** The type of a remote agent's authentication. Its secrets are not printed. Upstream. */
  authType?: string;
  /** The hash that an acknowledgement of it stands for. Derived. */
  hash?: string;
}

/** What `lapidary agents check` prints. */
export interface AgentCheckReport {
  /** The vocabulary and its version, `lapidary.agents-check/1`. Derived. */
  schema: string;
  /** How many definitions could be read. Derived. */
  agents: number;
  /** How many findings are errors. Derived. */
  errors: number;
  /** How many findings are warnings. Derived. */
  warnings: number;
  /** The findings, file by file. Derived. */
  findings: AgentFinding[];
}

/** An error or a warning about an agent file. */
export interface AgentFinding {
  /** How bad it is. Derived. */
  severity: AgentFindingSeverity;
  /** The file. Derived. */
  path: string;
  /** The line, from 1. Derived. */
  line?: number;
  /** The column, from 1. Derived. */
  column?: number;
  /** The agent, if the file is one. Upstream. */
  agent?: string;
  /** What there is to know, as a sentence. Derived. */
  message: string;
  /** What to do about it. Derived. */
  hint?: string;
}

/**
 * How bad a finding about an agent file is. Open: readers must accept words that are not listed here.
 * 
 * - `error`: The agent cannot be used.
 * - `warning`: The agent does not count, or not as it is written.
 * - `note`: It may be meant so.
 */
export type AgentFindingSeverity = "error" | "warning" | "note" | (string & {});

/** What `lapidary agents enable`, `disable`, `ack` and `import` changed. */
export interface AgentChange {
  /** The vocabulary and its version, `lapidary.agents-change/1`. Derived. */
  schema: string;
  /** The requested change. Derived. */
  action: AgentAction;
  /** Whether a file was written: false if all was so already. Derived. */
  applied: boolean;
  /** The files that changed. Derived. */
  changed?: string[];
  /** The agents it was about. Derived. */
  agents: ChangedAgent[];
  /** Remarks for the user, a sentence each. Derived. */
  remarks?: string[];
}

/**
 * Changes to agents that a command can make. Open: readers must accept words that are not listed here.
 * 
 * - `enable`: One was to be enabled.
 * - `disable`: One was to be disabled.
 * - `ack`: Agents of the workspace were to be acknowledged.
 * - `import`: Files of another format were to be converted.
 */
export type AgentAction = "enable" | "disable" | "ack" | "import" | (string & {});

/** An agent that a change was about. */
export interface ChangedAgent {
  /** Its name. Upstream. */
  name: string;
  /** The file that it was converted from. Derived. */
  importedFrom?: string;
  /** Parts that the import dropped or changed, a sentence each. Derived. */
  dropped?: string[];
}

/** The configuration that a run here would have. */
export interface ConfigShown {
  /** The vocabulary and its version, `lapidary.config/1`. Derived. */
  schema: string;
  /** The files that were looked for, the user's first. Derived. */
  files: ConfigFile[];
  /** Every key, its value and where that comes from. Derived. */
  settings: ConfigSetting[];
  /** The permission rules, in the order in which they count. Derived. */
  rules?: ConfigRule[];
  /** The names of the agents that the user's file defines. Derived. */
  agents?: string[];
  /** The part that was ignored, in words. Derived. */
  warnings?: string[];
}

/** A configuration file. */
export interface ConfigFile {
  /** Whose it is. Derived. */
  owner: ConfigOwner;
  /** Where it is, or would be. Derived. */
  path: string;
  /** Whether it is there. Derived. */
  exists: boolean;
}

/**
 * Whose file it is. Open: readers must accept words that are not listed here.
 * 
 * - `user`: The user's own.
 * - `project`: The project's. It cannot grant permissions.
 * - `named`: The one that `--config` names.
 */
export type ConfigOwner = "user" | "project" | "named" | (string & {});

/** A key, its value and where that comes from. */
export interface ConfigSetting {
  /** The key. Derived. */
  key: string;
  /** The value, as a file would have it; absent if there is neither a value nor a default. Derived. */
  value?: unknown;
  /** True if no file has the key. Derived. */
  isDefault: boolean;
  /** The file that it comes from. Derived. */
  path?: string;
  /** The line in it, from 1. Derived. */
  line?: number;
}

/** A permission rule. */
export interface ConfigRule {
  /** Where it stands. Derived. */
  rule: string;
  /** The rule's decision: `allow`, `deny` or `ask`. Derived. */
  effect: string;
}

/** The problems of the configuration files. */
export interface ConfigCheck {
  /** The vocabulary and its version, `lapidary.config-check/1`. Derived. */
  schema: string;
  /** The files that were read, the user's first. Derived. */
  files: ConfigFile[];
  /** How many errors there are. Derived. */
  errors: number;
  /** How many warnings there are. Derived. */
  warnings: number;
  /** The problems. Derived. */
  findings: ConfigFinding[];
}

/** A problem with a configuration file. */
export interface ConfigFinding {
  /** How bad it is. Derived. */
  severity: ConfigSeverity;
  /** The file. Derived. */
  path: string;
  /** The line, from 1. Derived. */
  line?: number;
  /** The character in the line, from 1. Derived. */
  column?: number;
  /** The problem, in one sentence. Derived. */
  message: string;
  /** What to do about it. Derived. */
  hint?: string;
}

/**
 * How bad a finding is. Open: readers must accept words that are not listed here.
 * 
 * - `error`: No run starts with this file.
 * - `warning`: A part of the file is ignored.
 */
export type ConfigSeverity = "error" | "warning" | (string & {});
