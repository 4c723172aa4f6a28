// @ts-check
// The page: which view stands in it, the token without which the server says nothing, and whether the server can be reached.

import { ApiError, hasToken, isAway, setToken, takeToken } from "/api.js";
import { listenToKeys, noteLastPlace, setViewKeys, showHelp } from "/keys.js";
import { element, problem } from "/markup.js";
import { focusRequest, setTitle, showInbox, watchRequests, watchTickets } from "/requests.js";
import { showRuns, tickTimes } from "/runs.js";

/** @typedef {(view: HTMLElement, signal: AbortSignal, id: string, asked: URLSearchParams) => void | Promise<void>} View */

/** Views, and how they are had: those of other pages than the first are loaded when they are wanted. @type {[RegExp, string, () => View | Promise<View>][]} */
const VIEWS = [
  [/^#\/runs$/, "Runs", () => showRuns],
  [/^#\/runs\/([\w.:-]+)$/, "Run", async () => (await import("/run.js")).showRun],
  [/^#\/inbox$/, "Inbox", () => showInbox],
  [/^#\/fleet$/, "Fleet", async () => (await import("/fleet.js")).showFleet],
  [/^#\/fleet\/([\w-]+)$/, "Ticket", async () => (await import("/ticket.js")).showTicket],
  [/^#\/sessions$/, "Sessions", async () => (await import("/sessions.js")).showSessions],
  [/^#\/sessions\/([\w.:-]+)$/, "Session", async () => (await import("/sessions.js")).showSession],
  [/^#\/stats$/, "Stats", async () => (await import("/stats.js")).showStats],
  [/^#\/doctor$/, "Doctor", async () => (await import("/doctor.js")).showDoctor],
];

const view = /** @type {HTMLElement} */ (document.getElementById("view"));
const link = /** @type {HTMLElement} */ (document.getElementById("link"));
let current = new AbortController();

function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const [path, search] = (location.hash || "#/runs").split("?");
  for (const tab of document.querySelectorAll(".tabs a")) {
    const isHere = path.startsWith(tab.getAttribute("href") ?? "-");
    if (isHere) {
      tab.setAttribute("aria-current", "page");
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else tab.removeAttribute("aria-current");
  }
  const hadFocus = view.contains(document.activeElement);
  view.replaceChildren();
  if (hadFocus) view.focus({ preventScroll: true }); // the next Tab goes on in the page, and not at its beginning
  setViewKeys("", []);
  scrollTo({ top: 0 });
  if (!hasToken()) return askForToken();
  for (const [pattern, title, load] of VIEWS) {
    const match = pattern.exec(path);
    if (!match) continue;
    setTitle(title);
    const make = async () => {
      const made = await load();
      if (!signal.aborted) await made(view, signal, match[1], new URLSearchParams(search));
    };
    return void make().catch((error) => showError(error, signal));
  }
  view.append(problem(`There is no page ${path}.`));
}

/**
 * @param {unknown} error
 * @param {AbortSignal} signal
 */
function showError(error, signal) {
  if (signal.aborted) return;
  if (!isAway(error)) {
    const known = error instanceof ApiError ? error : undefined;
    return void view.append(problem(known?.message ?? String(error), known?.hint));
  }
  view.append(problem("The server cannot be reached.", "start it again with `lapidary serve`: the page goes on by itself"));
  // The view is made again when the server answers.
  document.addEventListener("lapidary-back", show, { once: true, signal });
}

/** @param {string} [wrong] */
function askForToken(wrong) {
  current.abort();
  setTitle("Token");
  const field = element("input", { type: "password", autocomplete: "off", required: true, "aria-label": "Token" });
  view.replaceChildren(
    element(
      "div",
      { class: "token" },
      element("h1", {}, "Open the page with its token"),
      wrong ? problem(wrong) : "",
      element(
        "p",
        {},
        "This server answers only to clients with its token. ",
        element("code", {}, "lapidary serve --open"),
        " opens the page with it; or paste it here.",
      ),
      element(
        "form",
        {
          class: "search",
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            setToken(field.value);
            show();
          },
        },
        field,
        element("button", { class: "primary", type: "submit" }, "Use it"),
      ),
    ),
  );
  field.focus();
}

let isLinked = true;

/** @param {boolean} isUp */
function showLink(isUp) {
  if (isUp === isLinked) return;
  isLinked = isUp;
  link.hidden = isUp;
  link.textContent = isUp ? "" : "The server cannot be reached. The page reconnects by itself.";
  if (isUp) document.dispatchEvent(new Event("lapidary-back"));
}

const go = (/** @type {string} */ place) => () => {
  location.hash = place;
};
listenToKeys([
  ["g r", "go to runs", go("#/runs")],
  ["g i", "go to the inbox", go("#/inbox")],
  ["g f", "go to the fleet", go("#/fleet")],
  ["g s", "go to sessions", go("#/sessions")],
  ["g t", "go to stats", go("#/stats")],
  ["g d", "go to the doctor", go("#/doctor")],
  ["i", "focus the first request", focusRequest],
]);
document.getElementById("help")?.addEventListener("click", showHelp);
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault(); // the address stays that of the page
  view.focus();
});
document.addEventListener("lapidary-title", (event) => setTitle(/** @type {CustomEvent} */ (event).detail));
document.addEventListener("lapidary-link", (event) => showLink(/** @type {CustomEvent} */ (event).detail));
addEventListener("lapidary-token", () => askForToken("The token is not this server's."));
addEventListener("hashchange", (event) => {
  noteLastPlace(new URL(event.oldURL).hash);
  takeToken();
  show();
});
takeToken();
show();
tickTimes();
watchRequests();
watchTickets();
