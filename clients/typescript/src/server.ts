// Requests to `lapidary serve`.
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { LapidaryError } from "./errors.js";
import type { ServerOptions } from "./options.js";

/** The longest body of an answer, unless it is a stream of events. */
const LONGEST_BODY = 256 * 1024 * 1024;

/** A server, and the token for it. */
export class Server {
  readonly url: string;
  readonly #where: RequestOptions;
  readonly #request: typeof httpRequest = httpRequest;
  readonly #prefix: string = "";
  readonly #token: string;

  constructor(server: string | ServerOptions) {
    const options = typeof server === "string" ? { url: server } : server;
    this.url = options.url;
    if (String(options.url).startsWith("unix:")) { // a variable that is not set is no string
      this.#where = { socketPath: options.url.slice("unix:".length), headers: { host: "localhost" } };
    } else {
      const url = parseAddress(options.url);
      const isSecret = url.protocol === "https:";
      if (isSecret) this.#request = httpsRequest;
      const usualPort = isSecret ? 443 : 80;
      this.#where = { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: url.port === "" ? usualPort : Number(url.port) };
      this.#prefix = url.pathname.replace(/\/$/, "");
    }
    this.#token = options.token ?? readToken(options.tokenFile ?? usualTokenFile(), options.tokenFile !== undefined);
  }

  /** Sends a request, and gives the response once its headers are there. */
  open(method: string, path: string, options: { body?: unknown; accept?: string; signal?: AbortSignal } = {}): Promise<IncomingMessage> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    if (options.accept !== undefined) headers["accept"] = options.accept;
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    if (body !== undefined) headers["content-type"] = "application/json";
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const sent = this.#request({
        ...this.#where,
        headers: { ...(this.#where.headers as object | undefined), ...headers },
        method,
        path: `${this.#prefix}${path}`,
        ...(signal === undefined ? {} : { signal }),
      });
      sent.on("response", resolve);
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** Sends a request, and gives the JSON of the response. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    let response: IncomingMessage;
    try {
      response = await this.open(method, path, body === undefined ? {} : { body });
    } catch (error) {
      throw this.gone(error as Error);
    }
    return this.read(response);
  }

  /** The JSON of a response; an error if the server refused the request. */
  async read(response: IncomingMessage): Promise<unknown> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > LONGEST_BODY) throw new LapidaryError("line_too_long", `the server's answer has more than ${LONGEST_BODY} bytes`);
        pieces.push(piece);
      }
    } catch (error) {
      throw error instanceof LapidaryError ? error : this.gone(error as Error);
    }
    const text = Buffer.concat(pieces).toString("utf8");
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = { detail: text.slice(0, 200) };
    }
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return value;
    const problem = value as { detail?: string; hint?: string };
    throw new LapidaryError("server_refused", `the server refused (${status}): ${problem.detail ?? ""}`, hintFor(status, problem.hint), { status });
  }

  /** The error for a server that does not answer. */
  gone(error: NodeJS.ErrnoException, more = ""): LapidaryError {
    const isDistrusted = /CERT|SIGNATURE|ISSUER/.test(error.code ?? "");
    return new LapidaryError(
      "server_gone",
      `cannot reach the server at \`${this.url}\`: ${error.message}${more}`,
      isDistrusted
        ? "name the file with the certificate of its authority in the variable `NODE_EXTRA_CA_CERTS`"
        : "start it with `lapidary serve`, and give the `url` that it prints",
      { cause: error },
    );
  }
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new LapidaryError(
    "server_address",
    `invalid server address \`${address}\``,
    "give the `url` that `lapidary serve` prints: `http://…`, `https://…` or `unix:/…`",
  );
}

function hintFor(status: number, hint: string | undefined): string | undefined {
  return status === 401 ? "the token is not the server's: give the `tokenFile` that it prints" : hint;
}

function usualTokenFile(): string {
  const own = process.env["LAPIDARY_STATE_DIR"];
  if (own !== undefined && own !== "") return join(own, "serve", "token");
  const state = process.env["XDG_STATE_HOME"] ?? "";
  const base = isAbsolute(state) ? state : join(homedir(), ".local", "state");
  return join(base, "lapidary", "serve", "token");
}

function readToken(file: string, isGiven: boolean): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new LapidaryError(
      "token_missing",
      `cannot read the token file \`${file}\` (${code ?? "unknown error"})`,
      isGiven
        ? "give the `tokenFile` that `lapidary serve` prints"
        : "start the server with `lapidary serve`, or give `tokenFile` or `token`",
      { cause: error },
    );
  }
}
