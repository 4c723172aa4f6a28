/** What went wrong, for programs. */
export type LapidaryErrorCode =
  /** This version of Node.js is too old. */
  | "node_too_old"
  /** There is no package with a binary for this platform. */
  | "platform_unsupported"
  /** The package with the binary is not installed, or `LAPIDARY_BIN` names no program. */
  | "binary_missing"
  /** `cwd` is not a directory. */
  | "directory_missing"
  /** The binary or the server speaks another version than this client. */
  | "version_mismatch"
  /** `lapidary` ended, or printed something else, before its `run_end`. */
  | "ended_early"
  /** A line is longer than `maxLineBytes`. */
  | "line_too_long"
  /** The address of the server is invalid. */
  | "server_address"
  /** The token file of the server cannot be read. */
  | "token_missing"
  /** The server cannot be reached any more. */
  | "server_gone"
  /** The server refused a request. */
  | "server_refused"
  /** The agent or Lapidary refused a command. */
  | "command_failed"
  /** The option does not work with this transport. */
  | "unsupported_option";

/** An error of this client. `hint` is the next step, where there is one; `cause` the error of the system. */
export class LapidaryError extends Error {
  override readonly name = "LapidaryError";
  readonly code: LapidaryErrorCode;
  readonly hint: string | undefined;
  /** The HTTP status of `server_refused`. */
  readonly status: number | undefined;

  constructor(code: LapidaryErrorCode, what: string, hint?: string, from: { cause?: unknown; status?: number } = {}) {
    super(hint === undefined ? what : `${what}\nhint: ${hint}`, "cause" in from ? { cause: from.cause } : undefined);
    this.code = code;
    this.hint = hint;
    this.status = from.status;
  }
}
