// @ts-check
// A fleet: its queue, lanes, workers and cost, and its tickets.

import { ApiError, get } from "/api.js";
import { ago, cost, counted, dayName, duration, short } from "/format.js";
import { focusLastRow, rowKeys, setViewKeys } from "/keys.js";
import { agentMark, element, select, sentence } from "/markup.js";
import { noteFleet } from "/requests.js";
import { elapsed, grouped } from "/runs.js";

/** @typedef {import("./types").FleetOverviewReport} FleetOverviewReport */
/** @typedef {import("./types").FleetTicket} FleetTicket */
/** @typedef {import("./types").FleetWorker} FleetWorker */

const EVERY_MS = 2000;
const FIRST_ROWS = 100;
/** Counting tickets that ended goes no further. */
const COUNTED_DONE = 100_000;
/** A worker that was not seen for longer has missed several heartbeats. */
const SILENT_MS = 60_000;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showFleet(view, signal) {
  const store = element("p", { class: "count-line" });
  const tiles = element("dl", { class: "tiles" });
  const lanes = element("section", { class: "panel" });
  const workers = element("section", { class: "panel" });
  const list = element("div", { class: "rows" });
  const words = element("input", {
    type: "search",
    placeholder: "Filter tickets",
    "aria-label": "Filter tickets",
    oninput: () => drawTickets(),
  });
  const state = select({ "aria-label": "State", onchange: () => load() }, [
    ["", "every state"],
    ["waiting", "waiting"],
    ["blocked", "blocked"],
    ["running", "running"],
    ["done", "ended"],
  ]);
  const more = element(
    "button",
    {
      type: "button",
      class: "quiet more",
      hidden: true,
      onclick: () => {
        limit *= 5;
        load();
      },
    },
    "Show older tickets",
  );
  const page = element(
    "div",
    { class: "fleet", hidden: true },
    tiles,
    element("div", { class: "charts" }, lanes, workers),
    element("div", { class: "list-head" }, element("h2", {}, "Tickets"), element("div", { class: "filters" }, words, state)),
    list,
    more,
  );
  const nothing = element("div", { class: "empty large", hidden: true });
  view.append(element("div", { class: "list-head" }, element("h1", {}, "Fleet"), store), nothing, page);
  setViewKeys("Fleet", [["/", "filter", () => words.focus()], ...rowKeys(list)]);

  let limit = FIRST_ROWS;
  let before = "";
  /** @type {FleetTicket[]} */
  let tickets = [];

  async function load() {
    // A store that is not there yet is no error, and is asked for without one.
    if (page.hidden) {
      const { problem } = await get("/api/v1/fleet/permissions", signal);
      if (problem) return showNothing(problem);
    }
    const wanted = new URLSearchParams({ limit: String(limit) });
    if (state.value) wanted.set("state", state.value);
    const [overview, newest, running] = await Promise.all([
      get("/api/v1/fleet", signal),
      get(`/api/v1/fleet/tickets?${wanted}`, signal),
      // Those that run are shown also if many newer ones wait.
      state.value ? undefined : get(`/api/v1/fleet/tickets?state=running&limit=${FIRST_ROWS}`, signal),
    ]);
    if (page.hidden) noteFleet();
    nothing.hidden = true;
    page.hidden = false;
    drawOverview(overview);
    more.hidden = newest.tickets.length < limit;
    const known = new Set(newest.tickets.map((/** @type {FleetTicket} */ it) => it.ticket));
    tickets = [...newest.tickets, ...(running?.tickets ?? []).filter((/** @type {FleetTicket} */ it) => !known.has(it.ticket))];
    const now = JSON.stringify(tickets);
    if (now !== before) drawTickets();
    before = now;
    focusLastRow(list);
  }

  /** There is no store yet, or it cannot be reached: both may change. @param {string} reason */
  function showNothing(reason) {
    page.hidden = true;
    nothing.hidden = false;
    const [text, hint] = reason.split("; hint: ");
    nothing.replaceChildren(
      element("strong", {}, "No fleet yet"),
      element("p", {}, "A fleet runs tickets, which are tasks for agents, on this machine or on many."),
      element("p", {}, ...sentence("`lapidary fleet submit 'fix the test'` adds a ticket, `lapidary fleet work` runs those that wait.")),
      element("p", {}, element("small", {}, ...sentence(`${text.charAt(0).toUpperCase()}${text.slice(1)}${hint ? `: ${hint}` : ""}.`))),
    );
  }

  /** @param {FleetOverviewReport} overview */
  function drawOverview(overview) {
    store.replaceChildren(element("code", {}, overview.store));
    tiles.replaceChildren(...tilesOf(overview));
    lanes.replaceChildren(element("h2", {}, "Lanes"), lanesOf(overview));
    workers.replaceChildren(element("h2", {}, "Workers"), workersOf(overview));
  }

  function drawTickets() {
    const typed = words.value.trim().toLowerCase();
    const isWanted = (/** @type {FleetTicket} */ it) =>
      !typed || [it.title, it.agent, it.ticket, it.cause, ...(it.lanes ?? [])].join(" ").toLowerCase().includes(typed);
    const found = tickets.filter(isWanted).sort((one, other) => placeOf(one) - placeOf(other));
    const focused = /** @type {HTMLAnchorElement | null} */ (document.activeElement)?.getAttribute?.("href");
    list.replaceChildren(...grouped(found, headingOf, ticketRow));
    if (!found.length) list.append(element("p", { class: "empty" }, ...emptyNote(tickets.length === 0 && !state.value)));
    if (focused)
      /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
  }

  while (!signal.aborted) {
    try {
      if (!document.hidden || page.hidden) await load();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401) throw error;
      showNothing(error.hint ? `${error.message}; hint: ${error.hint}` : error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

/** @param {boolean} isFirst */
function emptyNote(isFirst) {
  return sentence(isFirst ? "No ticket was submitted yet: `lapidary fleet submit 'fix the test'`." : "No ticket is like that.");
}

/** @param {FleetOverviewReport} overview @returns {HTMLElement[]} */
function tilesOf(overview) {
  const live = overview.workers.filter((it) => !it.left);
  const slots = live.reduce((sum, it) => sum + it.slots, 0);
  const tile = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ note = "") =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, note ? element("small", {}, note) : null));
  const waits = overview.oldestWaitingMs;
  const spent = overview.lastDay;
  return [
    tile("Waiting", overview.waiting.toLocaleString(), waits ? `the first for ${duration(waits)}` : ""),
    tile("Running", overview.running.toLocaleString(), `of ${counted(slots, "slot")}`),
    tile("Blocked", overview.blocked.toLocaleString(), overview.blocked ? "wait for other tickets" : ""),
    tile("Ended", overview.done >= COUNTED_DONE ? `${short(COUNTED_DONE)}+` : overview.done.toLocaleString()),
    tile("Cost, last 24 h", cost(spent.costUsd) || "–", spent.totalTokens ? `${short(spent.totalTokens)} tokens` : ""),
  ];
}

/** @param {FleetOverviewReport} overview */
function lanesOf({ lanes }) {
  if (!lanes.length) return element("p", { class: "note" }, "No ticket in a lane runs or waits.");
  return element(
    "ul",
    { class: "lanes" },
    ...lanes.map((lane) => {
      const most = lane.limit ?? Math.max(lane.running, 1);
      const note = `${lane.running}${lane.limit ? ` of ${lane.limit}` : ""} running, ${lane.waiting} waiting`;
      return element(
        "li",
        {},
        element("span", { class: "lane-name" }, lane.name),
        element("meter", { min: 0, max: most, value: lane.running, "aria-label": `${lane.name}: ${note}` }),
        element("span", { class: "lane-note" }, note),
      );
    }),
  );
}

/** @param {FleetOverviewReport} overview */
function workersOf({ workers, now }) {
  const live = workers.filter((it) => !it.left);
  if (!live.length) return element("p", { class: "note" }, ...sentence("No worker is there: start one with `lapidary fleet work`."));
  const head = ["Worker", "Machine", "Slots", "Seen"];
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      { class: "list" },
      element("thead", {}, element("tr", {}, ...head.map((it) => element("th", { scope: "col" }, it)))),
      element("tbody", {}, ...live.map((it) => workerRow(it, now))),
    ),
  );
}

/** @param {FleetWorker} worker @param {string} now */
function workerRow(worker, now) {
  const silence = Math.max(0, Date.parse(now) - Date.parse(worker.seenAt));
  const isSilent = silence > SILENT_MS;
  const note = isSilent ? "silent" : worker.draining ? "draining" : "";
  return element(
    "tr",
    { title: worker.labels.join(", ") },
    element("td", {}, worker.name, note ? element("span", { class: "badge warn" }, note) : null),
    element("td", {}, worker.host),
    element("td", {}, `${worker.running} of ${worker.slots}`),
    element("td", {}, isSilent ? `${duration(silence)} ago` : "now"),
  );
}

/** Running ones first, then the queue, then those that ended. @param {FleetTicket} ticket */
function placeOf(ticket) {
  return ["running", "waiting", "blocked", "done"].indexOf(ticket.state);
}

/** @param {FleetTicket} ticket */
function headingOf(ticket) {
  const titles = /** @type {Record<string, string>} */ ({ running: "Running now", waiting: "Waiting", blocked: "Blocked" });
  return titles[ticket.state] ?? dayName(ticket.endedAt ?? undefined);
}

/** @param {FleetTicket} ticket */
function ticketRow(ticket) {
  const facts = [
    ...(ticket.lanes ?? []).map((it) => `lane ${it}`),
    ...(ticket.needs ?? []).map((it) => `needs ${it}`),
    ticket.attempts > 1 ? `attempt ${ticket.attempts}` : "",
    ticket.outcome && ticket.outcome !== "completed" ? ticket.cause?.replaceAll("_", " ") : "",
    ticket.cancelledBy && ticket.state === "running" ? `cancelled by ${ticket.cancelledBy}` : "",
  ].filter(Boolean);
  const sizes = [ticket.totalTokens ? `${short(ticket.totalTokens)} tokens` : "", ticket.costUsd ? cost(ticket.costUsd) : ""];
  return element(
    "article",
    { class: "row" },
    ticketBadge(ticket),
    element(
      "div",
      { class: "row-text" },
      element("a", { class: "row-link", href: `#/fleet/${ticket.ticket}` }, ticket.title || "(no prompt)"),
      element("p", { class: "row-note" }, ticket.agent ? agentMark(ticket.agent) : null, ...facts.map((it) => element("span", {}, it))),
    ),
    element(
      "div",
      { class: "row-side" },
      element("span", {}, timeOf(ticket), ...sizes.filter(Boolean).map((it) => ` · ${it}`)),
      element("time", { datetime: ticket.createdAt, title: ticket.createdAt }, ago(ticket.createdAt)),
    ),
  );
}

/** How long a ticket runs, or ran in its last attempt. @param {FleetTicket} ticket */
export function timeOf(ticket) {
  if (ticket.state === "running")
    return element("span", { "data-since": ticket.startedAt ?? "" }, elapsed(ticket.startedAt ?? undefined));
  if (ticket.state !== "done" || !ticket.startedAt || !ticket.endedAt) return "";
  return duration(Date.parse(ticket.endedAt) - Date.parse(ticket.startedAt));
}

/** @param {FleetTicket} ticket */
export function ticketBadge(ticket) {
  const isAsking = ticket.state === "running" && ticket.openPrompts > 0;
  const word = isAsking ? "asks" : (ticket.outcome ?? ticket.state);
  const kinds = /** @type {Record<string, string>} */ ({ running: "running", completed: "good", failed: "bad", waiting: "calm", blocked: "calm" });
  return element("span", { class: `badge ${kinds[word] ?? "warn"}`, title: ticket.cause?.replaceAll("_", " ") }, word);
}
