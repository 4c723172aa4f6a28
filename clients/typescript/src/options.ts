// The options of runs and connections, and the command line that they stand for.
import type { ElicitationRequest, PermissionRequest, PermissionResponse } from "./types.js";

/** The answer to a permission request: whether it is allowed, or the fields of a `permission_response`. */
export type PermissionAnswer =
  | boolean
  | Pick<PermissionResponse, "allowed" | "forRun" | "message" | "updatedInput" | "interrupt">;

/** Decides a permission request. `signal` is aborted if the request is decided elsewhere, or withdrawn. */
export type PermissionCallback = (
  request: PermissionRequest,
  signal: AbortSignal,
) => PermissionAnswer | Promise<PermissionAnswer>;

/** The answer to a form or page of the agent. */
export type ElicitationAnswer =
  | { action: "accept"; content?: Record<string, string | number | boolean | string[]> }
  | { action: "decline" | "cancel" };

export type ElicitationCallback = (
  request: ElicitationRequest,
  signal: AbortSignal,
) => ElicitationAnswer | Promise<ElicitationAnswer>;

/** The server of `lapidary serve`. */
export interface ServerOptions {
  /** `http://127.0.0.1:7717`, or `unix:/path/to/socket`. */
  url: string;
  /** The token. */
  token?: string | undefined;
  /** The file with the token; without both, the one that `lapidary serve` of this user writes. */
  tokenFile?: string | undefined;
}

/** Options of every run and connection. Those of the command line have the same names: `lapidary run --help`. */
export interface AgentOptions {
  /** `gemini` (default), `claude`, `codex`, `qwen`, `opencode`, `goose`, `demo`, or the command of an ACP agent. */
  agent?: string | undefined;
  model?: string | undefined;
  /** The directory that the agent works in. */
  cwd?: string | undefined;
  permissionMode?: "default" | "acceptEdits" | "bypassPermissions" | "plan" | undefined;
  /** Rules such as `edit:src/**` or `execute:cargo test*`. */
  allow?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
  ask?: readonly string[] | undefined;
  trustWorkspace?: boolean | undefined;
  /** Seconds. */
  timeout?: number | undefined;
  /** Limits such as `tokens=200000,cost=2`. */
  budget?: string | undefined;
  /** Whether events have the agent's own lines in `raw`. */
  raw?: boolean | undefined;
  /** Further options of the command line, as they are. */
  args?: readonly string[] | undefined;
  /** Variables of the process; those of this process without it. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The binary, instead of the one of the package. */
  binary?: string | undefined;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Decides requests for permission; without it, those that no rule decides are denied. */
  onPermission?: PermissionCallback | undefined;
  /** Fills in the agent's forms; without it, they are declined. */
  onElicitation?: ElicitationCallback | undefined;
  /** Gets what `lapidary` writes to stderr. */
  onStderr?: ((text: string) => void) | undefined;
  /** The longest line that is read, in bytes. Default: 256 MiB. */
  maxLineBytes?: number | undefined;
}

/** Options of `watch`. */
export interface WatchOptions extends Pick<AgentOptions, "signal" | "onPermission" | "onElicitation" | "maxLineBytes"> {
  /** The server that has the run: an address, or more about it. */
  server: string | ServerOptions;
  /** The `seq` of the last event that is known. */
  after?: number | undefined;
}

/** Options of a run. */
export interface RunOptions extends AgentOptions {
  prompt: string;
  /** A JSON Schema that the answer must fit. */
  outputSchema?: object | undefined;
  /** A session to continue: `latest`, or its id. */
  resume?: string | undefined;
  /** Runs on this server instead of a process: an address, or more about it. */
  server?: string | ServerOptions | undefined;
  /** With a server: the same key with the same options is the same run. */
  requestKey?: string | undefined;
}

/** Refuses what the types rule out and JavaScript lets through, such as a missing argument: the agent would wait for its prompt. */
export function checkPrompt(prompt: unknown): void {
  if (typeof prompt !== "string") throw new TypeError(`the prompt is ${String(prompt)}: it must be a string`);
}

/** The command line of these options. */
export function commandLine(command: "run" | "connect", options: AgentOptions): string[] {
  const args: string[] = [command];
  const option = (name: string, value: string | number | undefined): void => {
    if (value !== undefined) args.push(`--${name}=${value}`);
  };
  option("agent", options.agent);
  option("model", options.model);
  option("permission-mode", options.permissionMode);
  for (const rule of options.allow ?? []) option("allow", rule);
  for (const rule of options.deny ?? []) option("deny", rule);
  for (const rule of options.ask ?? []) option("ask", rule);
  option("timeout", options.timeout);
  option("budget", options.budget);
  if (options.trustWorkspace === true) args.push("--trust-workspace");
  if (options.raw !== true) args.push("--no-raw");
  return [...args, ...(options.args ?? [])];
}
