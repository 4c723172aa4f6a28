// @ts-check
// Requests that wait for the user: permissions and forms of runs, and permissions of tickets. A tray shows them on every page, the
// inbox shows them large, and the title counts them.

import { ApiError, get, hasToken, isAway, post } from "/api.js";
import { elicitationCard } from "/elicitation.js";
import { counted } from "/format.js";
import { setViewKeys } from "/keys.js";
import { announce, element, problem, sentence, setRendered } from "/markup.js";
import { requestHead } from "/origin.js";

/** @typedef {import("./types").OpenPermission} OpenPermission */

/**
 * Where a permission request comes from: the page of its run or ticket, and the path that takes its answer.
 * @typedef {{ page: string, path: string, isOfRun: boolean }} RequestOrigin
 */

const EVERY_MS = 1000;
/** The store of a fleet may be on another machine. */
const FLEET_MS = 2000;
/** Most servers have no fleet: they are seldom asked for one. */
const NO_FLEET_MS = 15_000;
const FOLDED = "lapidary-tray-folded";

/** Cards of open requests, by page and request. @type {Map<string, HTMLElement>} */
const cards = new Map();
/** Requests of runs. @type {import("./types").Waiting} */
let ofRuns = { permissions: [], elicitations: [] };
/** Requests of tickets. @type {import("./types").TicketPermission[]} */
let ofTickets = [];
/** The titles of views and runs. */
let title = "Lapidary";
/** @type {HTMLElement | undefined} */
let inbox;

const tray = /** @type {HTMLElement} */ (document.getElementById("tray"));
const trayCards = element("div", { class: "tray-cards" });
const trayTitle = element("h2", {});
const fold = element("button", {
  type: "button",
  class: "quiet",
  "aria-controls": "tray-cards",
  onclick: () => setFolded(!tray.classList.contains("folded")),
});
trayCards.id = "tray-cards";
tray.append(element("header", {}, trayTitle, element("a", { href: "#/inbox" }, "Inbox"), fold), trayCards);
setFolded(sessionStorage.getItem(FOLDED) === "true");
// The end of a page stays reachable below the tray.
new ResizeObserver(() =>
  document.documentElement.style.setProperty("--tray", tray.hidden ? "0px" : `${tray.offsetHeight}px`),
).observe(tray);

/** @param {boolean} isFolded */
function setFolded(isFolded) {
  tray.classList.toggle("folded", isFolded);
  fold.textContent = isFolded ? "Show" : "Hide";
  fold.setAttribute("aria-expanded", String(!isFolded));
  sessionStorage.setItem(FOLDED, String(isFolded));
}

/** Looks for requests as long as the page is open. */
export async function watchRequests() {
  for (;;) {
    if (hasToken()) await refresh();
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? 4 * EVERY_MS : EVERY_MS));
  }
}

/** Looks for requests of tickets, too. A store that answers late does not hold up requests of runs. */
export async function watchTickets() {
  for (;;) {
    const has = hasToken() && (await refreshTickets());
    await new Promise((resolve) => {
      if (!has) wake = () => resolve(undefined);
      setTimeout(resolve, document.hidden || !has ? NO_FLEET_MS : FLEET_MS);
    });
  }
}

let wake = () => {};

/** A fleet is there: its requests are looked for at once if they were not before. */
export function noteFleet() {
  wake();
}

/** Returns false if there is no fleet, or if its store cannot be reached. Then the requests stay as they were. */
async function refreshTickets() {
  try {
    const found = await get("/api/v1/fleet/permissions", AbortSignal.timeout(30_000));
    if (found.problem) return false;
    ofTickets = found.permissions;
    show();
    return true;
  } catch {
    return false;
  }
}

async function refresh() {
  try {
    ofRuns = await get("/api/v1/permissions", AbortSignal.timeout(20_000));
    show();
    document.dispatchEvent(new CustomEvent("lapidary-link", { detail: true }));
  } catch (error) {
    if (isAway(error)) document.dispatchEvent(new CustomEvent("lapidary-link", { detail: false }));
  }
}

function show() {
  /** @type {Map<string, () => HTMLElement>} */
  const open = new Map();
  for (const it of ofRuns.permissions) {
    const id = encodeURIComponent(String(it.request.requestId));
    const path = `/api/v1/runs/${it.runId}/permissions/${id}`;
    const page = `runs/${it.runId}`;
    open.set(`${page} ${id}`, () => permissionCard(it, { page, path, isOfRun: true }));
  }
  for (const it of ofRuns.elicitations ?? [])
    open.set(`runs/${it.runId} form ${it.request.requestId}`, () => elicitationCard(it, refresh));
  for (const it of ofTickets) {
    const id = encodeURIComponent(String(it.request.requestId));
    const path = `/api/v1/fleet/tickets/${it.ticket}/permissions/${id}`;
    const page = `fleet/${it.ticket}`;
    open.set(`${page} ${id}`, () => permissionCard(it, { page, path, isOfRun: false }));
  }
  for (const [key, make] of open) {
    if (cards.has(key)) continue;
    const card = make();
    cards.set(key, card);
    const name = card.getAttribute("aria-label") ?? "";
    announce(`${name}. Press i to answer.`);
    notify(key, name);
  }
  for (const [key, card] of cards) {
    if (open.has(key)) continue;
    if (card.contains(document.activeElement)) document.getElementById("view")?.focus();
    card.remove();
    cards.delete(key);
  }
  place();
}

/** Puts the cards where they belong, and counts them. */
function place() {
  const count = cards.size;
  const home = inbox ?? trayCards;
  for (const card of cards.values()) if (card.parentElement !== home) home.append(card);
  // On the page of a run or ticket its own requests come first.
  const own = [...cards].filter(([key]) => location.hash === `#/${key.split(" ")[0]}`).map(([, card]) => card);
  if (own.length && home.firstElementChild !== own[0] && !home.contains(document.activeElement)) home.prepend(...own);
  tray.hidden = count === 0 || inbox !== undefined;
  trayTitle.textContent = count === 1 ? "An agent waits for you" : `${counted(count, "request")} wait for you`;
  document.dispatchEvent(new Event("lapidary-requests"));
  const badge = /** @type {HTMLElement} */ (document.getElementById("badge"));
  badge.hidden = count === 0;
  badge.textContent = String(count);
  document.title = count ? `(${count}) ${title}` : title;
  const empty = document.getElementById("inbox-empty");
  if (empty) empty.hidden = count > 0;
}

/** Whether the run or ticket of a page waits for an answer. @param {string} page */
export function hasRequest(page) {
  return [...cards.keys()].some((key) => key.startsWith(`${page} `));
}

/** @param {string} text */
export function setTitle(text) {
  title = text ? `${text} · Lapidary` : "Lapidary";
  place();
}

/** Moves the focus to the first request. */
export function focusRequest() {
  setFolded(false);
  const [first] = cards.values();
  first?.focus();
  first?.scrollIntoView({ block: "nearest" });
}

/**
 * A message of the system, if the user allows them and does not see the page.
 * @param {string} key
 * @param {string} text
 */
function notify(key, text) {
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const note = new Notification("Lapidary", { body: text, tag: key }); // the tag: one message for all tabs
  note.onclick = () => {
    window.focus();
    focusRequest();
  };
}

/**
 * @param {Pick<OpenPermission, "request" | "html">} permission
 * @param {RequestOrigin} origin
 */
function permissionCard({ request, html }, origin) {
  const subject = element("div", { class: "subject-body" });
  setRendered(subject, html);
  const name = String(request.title ?? request.toolName);
  const reason = element("input", { type: "text", placeholder: "Reason (optional)", "aria-label": "Reason for the agent" });
  const button = (
    /** @type {string} */ text,
    /** @type {string} */ key,
    /** @type {string} */ kind,
    /** @type {() => void} */ act,
  ) => element("button", { type: "button", class: kind, "data-key": key, title: `${text} (${key})`, onclick: act }, text);
  const buttons = element(
    "div",
    { class: "buttons" },
    button("Allow", "a", "primary", () => answer(true)),
    origin.isOfRun && button("Allow for this run", "r", "", () => answer(true, true)),
    button("Deny", "d", "danger", () => answer(false)),
    reason,
  );
  const card = element(
    "section",
    { class: "ask", tabindex: "0", "data-keys": true, "aria-label": `Permission request: ${name}` },
    requestHead(request.provider, [" asks: ", element("strong", {}, name)], origin.page),
    request.reason ? element("p", { class: "note" }, ...sentence(String(request.reason))) : null,
    subject,
    buttons,
  );

  /**
   * @param {boolean} allowed
   * @param {boolean} [forRun]
   */
  async function answer(allowed, forRun) {
    const all = /** @type {HTMLButtonElement[]} */ ([...buttons.querySelectorAll("button")]);
    for (const it of all) it.disabled = true;
    card.querySelector(".notice")?.remove();
    /** @type {Record<string, unknown>} */
    const body = { allowed };
    if (forRun) body.forRun = true;
    if (reason.value.trim()) body.message = reason.value.trim();
    try {
      await post(origin.path, body);
      await (origin.isOfRun ? refresh() : refreshTickets());
    } catch (error) {
      const known = error instanceof ApiError ? error : undefined;
      const decision = known?.body?.decision?.decision;
      const text = decision
        ? `Another client has answered: ${decision}.`
        : (known?.message ?? "The answer did not reach the server: try again.");
      const note = problem(text, known?.hint);
      if (known?.status === 409 || known?.status === 410) {
        buttons.replaceWith(note);
        setTimeout(origin.isOfRun ? refresh : refreshTickets, 2500);
        return;
      }
      // The request still waits: the next answer may be taken.
      buttons.before(note);
      for (const it of all) it.disabled = false;
    }
  }
  return card;
}

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export function showInbox(view, signal) {
  const list = element("div", { class: "inbox" });
  const empty = element(
    "div",
    { class: "empty large", id: "inbox-empty", hidden: true },
    element("strong", {}, "Nothing waits for you."),
    element("p", {}, "When an agent asks for permission or has a question, it appears here and on every page."),
  );
  view.append(element("div", { class: "list-head" }, element("h1", {}, "Inbox"), notifyButton()), list, empty);
  setViewKeys("Inbox", []);
  inbox = list;
  place();
  signal.addEventListener("abort", () => {
    inbox = undefined;
    place();
  });
}

function notifyButton() {
  if (!("Notification" in window) || Notification.permission !== "default") return null;
  const button = element(
    "button",
    {
      type: "button",
      onclick: async () => {
        await Notification.requestPermission();
        button.remove();
      },
    },
    "Notify me when an agent asks",
  );
  return button;
}
