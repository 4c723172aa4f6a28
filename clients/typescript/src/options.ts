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
  token?: string;
  /** The file with the token; without both, the one that `lapidary serve` of this user writes. */
  tokenFile?: string;
}

/** Options of every run and connection. Those of the command line have the same names: `lapidary run --help`. */
export interface AgentOptions {
  /** `gemini` (default), `claude`, `codex`, `qwen`, `opencode`, `goose`, `demo`, or the command of an ACP agent. */
  agent?: string;
  model?: string;
  /** The directory that the agent works in. */
  cwd?: string;
  permissionMode?: "default" | "acceptEdits" | "bypassPermissions" | "plan";
  /** Rules such as `edit:src/**` or `execute:cargo test*`. */
  allow?: readonly string[];
  deny?: readonly string[];
  ask?: readonly string[];
  trustWorkspace?: boolean;
  /** Seconds. */
  timeout?: number;
  /** Limits such as `tokens=200000,cost=2`. */
  budget?: string;
  /** Whether events have the agent's own lines in `raw`. */
  raw?: boolean;
  /** Further options of the command line, as they are. */
  args?: readonly string[];
  /** Variables of the process; those of this process without it. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The binary, instead of the one of the package. */
  binary?: string;
  /** Ends the run. */
  signal?: AbortSignal;
  /** Without it, requests that no rule decides are denied. */
  onPermission?: PermissionCallback;
  /** Without it, forms and pages are declined. */
  onElicitation?: ElicitationCallback;
  /** Gets what `lapidary` writes to stderr. */
  onStderr?: (text: string) => void;
  /** The longest line that is read, in bytes. Default: 256 MiB. */
  maxLineBytes?: number;
}

/** Options of a run. */
export interface RunOptions extends AgentOptions {
  prompt: string;
  /** A JSON Schema that the answer must fit. */
  outputSchema?: object;
  /** A session to continue: `latest`, or its id. */
  resume?: string;
  /** Runs on this server instead of a process: an address, or more about it. */
  server?: string | ServerOptions;
  /** With a server: the same key with the same options is the same run. */
  requestKey?: string;
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
