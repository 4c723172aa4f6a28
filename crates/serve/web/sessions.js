// @ts-check
// Sessions of all agents: a list that is searched as one types, and a transcript with jumps from prompt to prompt.

import { ApiError, get, lines } from "/api.js";
import { ago, element, problem, shortPath } from "/markup.js";
import { BlockList } from "/runs.js";

const TYPING_MS = 200;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showSessions(view, signal) {
  const query = /** @type {HTMLInputElement} */ (element("input", { type: "search", placeholder: "Search prompts, answers, commands and files", "aria-label": "Search sessions" }));
  const agent = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Agent" }, element("option", { value: "" }, "all agents"),
    ...["gemini", "claude", "codex", "qwen", "opencode", "lapidary"].map((it) => element("option", { value: it }, it))));
  const list = element("div", { class: "sessions", "aria-live": "polite" });
  view.append(element("h1", {}, "Sessions"), element("div", { class: "search" }, query, agent), list);
  let current = new AbortController();
  let timer = 0;
  const look = async () => {
    current.abort();
    current = new AbortController();
    const mine = AbortSignal.any([signal, current.signal]);
    const wanted = new URLSearchParams({ limit: "100" });
    if (query.value.trim()) wanted.set("q", query.value.trim());
    if (agent.value) wanted.set("agent", agent.value);
    try {
      const found = await get(`/api/v1/sessions?${wanted}`, mine);
      if (!mine.aborted) list.replaceChildren(...sessionRows(found));
    } catch (error) {
      if (mine.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      list.replaceChildren(problem(error.message, error.hint));
    }
  };
  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(look, TYPING_MS);
  });
  agent.addEventListener("change", look);
  query.focus();
  await look();
}

/** @param {any} found */
function sessionRows(found) {
  const sessions = found.sessions ?? found.hits ?? [];
  if (!sessions.length) return [element("p", { class: "empty" }, "No session was found.")];
  const sorted = found.hits ? sessions : [...sessions].sort((one, other) => Date.parse(other.lastUpdated ?? "") - Date.parse(one.lastUpdated ?? ""));
  return sorted.map(sessionRow);
}

/** @param {any} session */
function sessionRow(session) {
  const hits = (session.matchSnippets ?? []).slice(0, 3).map((/** @type {any} */ hit) =>
    element("p", { class: "hit" }, element("span", { class: "note" }, hit.role, " "), hit.before ?? "", element("mark", {}, hit.match ?? ""), hit.after ?? ""));
  const facts = [session.provider, shortPath(session.project), session.messageCount > 0 && `${session.messageCount} messages`, ago(session.lastUpdated ?? session.startTime)];
  return element("article", { class: "session" },
    element("a", { href: `#/sessions/${session.id}` }, session.displayName || session.id),
    element("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
    ...hits);
}

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} id
 */
export async function showSession(view, signal, id) {
  const transcript = element("div", { class: "transcript" });
  const jumps = element("div", { class: "jumps" },
    element("button", { type: "button", onclick: () => jump(-1), title: "Previous prompt (k)" }, "↑ prompt"),
    element("button", { type: "button", onclick: () => jump(1), title: "Next prompt (j)" }, "↓ prompt"));
  view.append(element("p", { class: "crumbs" }, element("a", { href: "#/sessions" }, "Sessions"), ` / ${id}`), jumps, transcript);
  addEventListener("keydown", (event) => {
    if (/** @type {HTMLElement} */ (event.target).closest("input, textarea, select")) return;
    if (event.key === "j") jump(1);
    if (event.key === "k") jump(-1);
  }, { signal });

  /** @param {number} step */
  function jump(step) {
    const prompts = [...transcript.querySelectorAll(".prompt")];
    const tops = prompts.map((it) => it.getBoundingClientRect().top);
    const next = step > 0 ? tops.findIndex((top) => top > 40) : tops.findLastIndex((top) => top < -10);
    prompts[next]?.scrollIntoView({ block: "start" });
  }

  const blocks = new BlockList(transcript);
  blocks.follows = false;
  await lines(`/api/v1/sessions/${encodeURIComponent(id)}?format=blocks`, signal, (it) => blocks.set(it.block, it.html));
}
