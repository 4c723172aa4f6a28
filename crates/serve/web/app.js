// @ts-check
// The page: which view stands in it, and the token without which the server says nothing.

import { ApiError, hasToken, setToken, takeToken } from "/api.js";
import { element, problem } from "/markup.js";
import { showInbox, watchPrompts } from "/prompts.js";
import { showDoctor, showStats } from "/reports.js";
import { showRun, showRuns } from "/runs.js";
import { showSession, showSessions } from "/sessions.js";

/** @type {[RegExp, (view: HTMLElement, signal: AbortSignal, id: string) => void | Promise<void>][]} */
const VIEWS = [
  [/^#\/runs$/, showRuns],
  [/^#\/runs\/([\w.:-]+)$/, showRun],
  [/^#\/inbox$/, showInbox],
  [/^#\/sessions$/, showSessions],
  [/^#\/sessions\/([\w.:-]+)$/, showSession],
  [/^#\/stats$/, showStats],
  [/^#\/doctor$/, showDoctor],
];

const view = /** @type {HTMLElement} */ (document.getElementById("view"));
let current = new AbortController();

function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const address = location.hash || "#/runs";
  for (const tab of document.querySelectorAll(".tabs a")) {
    const isHere = address.startsWith(tab.getAttribute("href") ?? "-");
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  view.replaceChildren();
  if (!hasToken()) return askForToken();
  for (const [pattern, make] of VIEWS) {
    const match = pattern.exec(address);
    if (!match) continue;
    Promise.resolve(make(view, signal, match[1])).catch((error) => {
      if (signal.aborted) return;
      if (error instanceof ApiError) view.append(problem(error.message, error.hint));
      else view.append(problem(`The server cannot be reached: ${error.message}`, "start it again with `lapidary serve`"));
    });
    return;
  }
  view.append(problem(`There is no page ${address}.`));
}

/** @param {string} [wrong] */
function askForToken(wrong) {
  current.abort();
  const field = /** @type {HTMLInputElement} */ (element("input", { type: "password", autocomplete: "off", required: true, "aria-label": "Token" }));
  view.replaceChildren(element("h1", {}, "Token"), wrong ? problem(wrong) : "",
    element("p", {}, "This server answers only to clients with its token. ", element("code", {}, "lapidary serve --open"), " opens the page with it; or paste it here."),
    element("form", { class: "search", onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); setToken(field.value); show(); } },
      field, element("button", { class: "primary", type: "submit" }, "Use it")));
  field.focus();
}

takeToken();
addEventListener("hashchange", () => {
  if (location.hash === "#view") return; // the link that skips the header
  takeToken();
  show();
});
addEventListener("lapidary-token", () => askForToken("The token is not this server's."));
show();
watchPrompts();
