// @ts-check
// Requests to the server, and streams that come back after a break.

const KEY = "lapidary-token";
/** A stream that is silent for longer is taken for dead. The server sends a heartbeat every ten seconds. */
const SILENCE_MS = 25_000;
/** A hidden tab leaves its connection to others after this time: a browser has six for a host. */
const HIDDEN_MS = 5_000;

/** Takes the token out of the address, where the page was opened with one. */
export function takeToken() {
  const match = /^#token=([0-9a-f]{64})$/.exec(location.hash);
  if (!match) return;
  localStorage.setItem(KEY, match[1]);
  history.replaceState(null, "", "/#/runs");
}

export function hasToken() {
  return localStorage.getItem(KEY) !== null;
}

/** @param {string} token */
export function setToken(token) {
  localStorage.setItem(KEY, token.trim());
}

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {any} body
   */
  constructor(status, body) {
    super(body?.detail ?? `the server answered ${status}`);
    this.status = status;
    /** @type {string | undefined} */
    this.hint = body?.hint;
    this.body = body;
  }
}

/** There was no response. */
class Unreachable extends Error {}

/** Whether an error tells that the server cannot be reached, also behind a proxy. @param {unknown} error */
export function isAway(error) {
  return error instanceof Unreachable || (error instanceof ApiError && [502, 503, 504].includes(error.status));
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  headers.set("authorization", `Bearer ${localStorage.getItem(KEY) ?? ""}`);
  const response = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Unreachable("The server cannot be reached.");
  });
  if (response.ok) return response;
  const body = await response.json().catch(() => undefined);
  if (response.status === 401) {
    localStorage.removeItem(KEY);
    window.dispatchEvent(new Event("lapidary-token"));
  }
  throw new ApiError(response.status, body);
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/**
 * Reads lines of JSON as they come.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(value: any) => void} take
 */
export async function lines(path, signal, take) {
  const response = await request(path, { signal });
  let rest = "";
  for await (const text of texts(response, signal)) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) take(JSON.parse(part));
  }
}

/**
 * Reads server-sent events until one of them is the end. After a break it goes on behind the last one that was read, and so it does
 * when a hidden tab is looked at again.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(event: { name: string, data: any }) => boolean} take Returns false after the last one.
 * @param {(state: "live" | "waiting") => void} tell
 */
export async function follow(path, signal, take, tell) {
  let last = "";
  let wait = 250;
  while (!signal.aborted) {
    await whenVisible(signal);
    const attempt = new AbortController();
    const ends = endsOf(attempt, signal);
    try {
      const headers = new Headers({ accept: "text/event-stream" });
      if (last) headers.set("last-event-id", last);
      const response = await request(path, { headers, signal: attempt.signal });
      tell("live");
      wait = 250;
      let buffer = "";
      for await (const text of texts(response, attempt.signal, () => attempt.abort())) {
        const blocks = (buffer + text).split("\n\n");
        buffer = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = parse(block);
          if (event.id) last = event.id;
          if (event.name !== "heartbeat" && !take(event)) return;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 500) throw error;
    } finally {
      ends();
    }
    if (document.hidden) continue;
    tell("waiting");
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    wait = Math.min(wait * 2, 5_000);
  }
}

/**
 * Ends an attempt with the view, and when the tab has been hidden for a while. Returns what to call when it is over.
 * @param {AbortController} attempt
 * @param {AbortSignal} signal
 */
function endsOf(attempt, signal) {
  const over = new AbortController();
  let timer = 0;
  signal.addEventListener("abort", () => attempt.abort(), { signal: over.signal });
  document.addEventListener(
    "visibilitychange",
    () => {
      clearTimeout(timer);
      if (document.hidden) timer = window.setTimeout(() => attempt.abort(), HIDDEN_MS);
    },
    { signal: over.signal },
  );
  return () => {
    clearTimeout(timer);
    over.abort();
  };
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
function whenVisible(signal) {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** @param {string} block */
function parse(block) {
  let id = "";
  let name = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return { id, name, data: data ? JSON.parse(data) : undefined };
}

/**
 * The pieces of a response as text. Calls `silent` when none comes for too long.
 * @param {Response} response
 * @param {AbortSignal} signal
 * @param {() => void} [silent]
 */
async function* texts(response, signal, silent) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  try {
    while (!signal.aborted) {
      const timer = silent ? setTimeout(silent, SILENCE_MS) : undefined;
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
