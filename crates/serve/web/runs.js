// @ts-check
// The list of runs, and the form that starts one.

import { get } from "/api.js";
import { ago, cost, dayName, duration, short, shortPath } from "/format.js";
import { focusLastRow, rowKeys, setViewKeys } from "/keys.js";
import { agentMark, element, select } from "/markup.js";
import { hasRequest } from "/requests.js";
import { startForm } from "/start.js";

/** @typedef {import("./types").RunInfo} RunInfo */

const EVERY_MS = 2000;
const FIRST_ROWS = 100;

/** The prompts of runs that go on: their recordings do not have them yet. @type {Map<string, string>} */
const prompts = new Map();

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showRuns(view, signal) {
  const list = element("div", { class: "rows" });
  const words = element("input", {
    type: "search",
    placeholder: "Filter runs",
    "aria-label": "Filter runs",
    oninput: () => draw(),
  });
  const outcome = select({ "aria-label": "Outcome", onchange: () => draw() }, [
    ["", "every outcome"],
    ["running", "running"],
    ["completed", "completed"],
    ["refused", "refused"],
    ["cancelled", "cancelled"],
    ["failed", "failed"],
  ]);
  const more = element(
    "button",
    {
      type: "button",
      class: "quiet more",
      hidden: true,
      onclick: () => {
        limit *= 10;
        load();
      },
    },
    "Show older runs",
  );
  const form = startForm(signal);
  view.append(
    element("h1", { class: "vh" }, "Runs"),
    form,
    element("div", { class: "list-head" }, element("h2", {}, "Runs"), element("div", { class: "filters" }, words, outcome)),
    list,
    more,
  );
  setViewKeys("Runs", [
    ["n", "new run", () => form.querySelector("textarea")?.focus()],
    ["/", "filter", () => words.focus()],
    ...rowKeys(list),
  ]);

  let limit = FIRST_ROWS;
  let before = "";
  /** @type {RunInfo[]} */
  let runs = [];

  async function load() {
    const found = await get(`/api/v1/runs?limit=${limit}`, signal);
    const asking = found.runs.filter(isAsking).map((/** @type {RunInfo} */ run) => run.id);
    const now = JSON.stringify([found.runs, asking]);
    if (now === before) return;
    before = now;
    runs = found.runs;
    more.hidden = !found.older && !found.nextCursor;
    await Promise.all(runs.filter((run) => run.state === "running" && !run.prompt && !prompts.has(run.id)).map(findPrompt));
    draw();
    focusLastRow(list);
  }

  function draw() {
    const wanted = words.value.trim().toLowerCase();
    const isWanted = (/** @type {RunInfo} */ run) =>
      (!outcome.value || outcomeOf(run) === outcome.value) &&
      (!wanted || [promptOf(run), run.agent, run.project, run.model, run.id].join(" ").toLowerCase().includes(wanted));
    const found = runs.filter(isWanted).sort((one, other) => Number(other.state === "running") - Number(one.state === "running"));
    const focused = /** @type {HTMLAnchorElement | null} */ (document.activeElement)?.getAttribute?.("href");
    list.replaceChildren(...grouped(found, (run) => (run.state === "running" ? "Running now" : dayName(run.startedAt)), runRow));
    if (!found.length) list.append(emptyNote(runs.length === 0));
    if (focused)
      /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
  }

  while (!signal.aborted) {
    if (!document.hidden || !before) await load();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

/** @param {boolean} isFirst */
function emptyNote(isFirst) {
  if (!isFirst) return element("p", { class: "empty" }, "No run is like that.");
  return element(
    "p",
    { class: "empty" },
    "No run is recorded yet. Start one above: the agent ",
    element("code", {}, "demo"),
    " needs nothing installed.",
  );
}

/**
 * Rows below headings; neighbours with the same heading share it.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => string} heading
 * @param {(item: T) => Node} row
 */
export function grouped(items, heading, row) {
  /** @type {HTMLElement[]} */
  const groups = [];
  let last = "";
  for (const item of items) {
    const title = heading(item);
    if (title !== last) groups.push(element("section", { "aria-label": title }, element("h3", {}, title)));
    last = title;
    groups.at(-1)?.append(row(item));
  }
  return groups;
}

/** @param {RunInfo} run */
async function findPrompt(run) {
  try {
    prompts.set(run.id, (await get(`/api/v1/runs/${run.id}`)).prompt ?? "");
  } catch {
    prompts.set(run.id, ""); // a run of another process
  }
}

/** @param {RunInfo} run */
function promptOf(run) {
  return run.prompt || prompts.get(run.id) || "";
}

/** @param {RunInfo} run */
function runRow(run) {
  const isRunning = run.state === "running";
  const facts = [run.model, shortPath(run.project), run.outcome !== "completed" && run.cause?.replaceAll("_", " ")].filter(
    Boolean,
  );
  const sizes = [run.totalTokens ? `${short(run.totalTokens)} tokens` : "", cost(run.costUsd, run.costBasis)].filter(Boolean);
  return element(
    "article",
    { class: "row" },
    outcomeBadge(run),
    element(
      "div",
      { class: "row-text" },
      element("a", { class: "row-link", href: `#/runs/${run.id}` }, promptOf(run) || (isRunning ? "(prompt not recorded yet)" : "(no prompt)")),
      element("p", { class: "row-note" }, agentMark(run.agent), ...facts.map((it) => element("span", {}, it))),
    ),
    element(
      "div",
      { class: "row-side" },
      element(
        "span",
        {},
        isRunning ? element("span", { "data-since": run.startedAt ?? "" }, elapsed(run.startedAt)) : duration(run.durationMs),
        ...sizes.map((it) => ` · ${it}`),
      ),
      element("time", { datetime: run.startedAt ?? "", title: run.startedAt ?? "" }, ago(run.startedAt)),
    ),
  );
}

/** Whether a run waits for an answer. @param {RunInfo} run */
function isAsking(run) {
  return run.state === "running" && hasRequest(`runs/${run.id}`);
}

/** @param {RunInfo} run */
function outcomeOf(run) {
  if (run.state !== "ended") return run.state;
  return run.outcome ?? (run.agentExitCode === 0 ? "completed" : "failed");
}

/** The state of a run: its outcome, or whether it waits for an answer. @param {RunInfo} run */
export function outcomeBadge(run) {
  const outcome = isAsking(run) ? "asks" : outcomeOf(run);
  const kinds = /** @type {Record<string, string>} */ ({ running: "running", completed: "good", failed: "bad" });
  return element("span", { class: `badge ${kinds[outcome] ?? "warn"}`, title: run.cause?.replaceAll("_", " ") }, outcome);
}

/** @param {string | null | undefined} since */
export function elapsed(since) {
  const ms = Date.now() - Date.parse(since ?? "");
  return Number.isNaN(ms) ? "" : duration(Math.max(0, ms));
}

/** Times of runs that go on are counted on, once a second. */
export function tickTimes() {
  setInterval(() => {
    if (document.hidden) return;
    for (const it of document.querySelectorAll("[data-since]")) it.textContent = elapsed(it.getAttribute("data-since"));
  }, 1000);
}
