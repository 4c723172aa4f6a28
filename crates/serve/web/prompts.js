// @ts-check
// Permission prompts: a list that every page shows, and the badge in the title.

import { ApiError, get, hasToken, post } from "/api.js";
import { element, problem, setRendered } from "/markup.js";

const EVERY_MS = 1500;

/** Prompts that are on the page, by run and request. @type {Map<string, HTMLElement>} */
const shown = new Map();

/** Looks for prompts as long as the page is open. */
export async function watchPrompts() {
  for (;;) {
    if (hasToken()) await refresh();
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? 4 * EVERY_MS : EVERY_MS));
  }
}

async function refresh() {
  try {
    const { permissions } = await get("/api/v1/permissions");
    show(permissions);
  } catch {
    // The page shows that the server cannot be reached.
  }
}

/** @param {any[]} permissions */
function show(permissions) {
  const place = /** @type {HTMLElement} */ (document.getElementById("prompts"));
  const open = new Set();
  for (const permission of permissions) {
    const key = `${permission.runId} ${permission.request.requestId}`;
    open.add(key);
    if (shown.has(key)) continue;
    const card = promptCard(permission);
    shown.set(key, card);
    place.append(card);
  }
  for (const [key, card] of shown) {
    if (open.has(key)) continue;
    card.remove();
    shown.delete(key);
  }
  const count = permissions.length;
  document.title = count ? `(${count}) Lapidary` : "Lapidary";
  const badge = /** @type {HTMLElement} */ (document.getElementById("badge"));
  badge.hidden = count === 0;
  badge.textContent = String(count);
}

/** @param {any} permission */
function promptCard(permission) {
  const { request, runId } = permission;
  const subject = element("div", { class: "subject-body" });
  setRendered(subject, permission.html);
  const title = request.title ?? request.toolName;
  const reason = /** @type {HTMLInputElement} */ (element("input", {
    type: "text", placeholder: "Reason for the agent (optional)", "aria-label": "Reason for the agent",
  }));
  const buttons = element("div", { class: "buttons" },
    element("button", { class: "primary", type: "button", onclick: () => answer(true) }, "Allow"),
    element("button", { type: "button", onclick: () => answer(true, true) }, "Allow for this run"),
    element("button", { class: "danger", type: "button", onclick: () => answer(false) }, "Deny"),
    reason);
  const card = element("section", { class: "ask", "aria-label": `Permission request: ${title}` },
    element("h2", {}, "The agent asks: ", title, " ",
      element("a", { href: `#/runs/${runId}` }, "run")),
    subject, buttons);

  /**
   * @param {boolean} allowed
   * @param {boolean} [forRun]
   */
  async function answer(allowed, forRun) {
    for (const button of buttons.querySelectorAll("button")) button.disabled = true;
    /** @type {Record<string, unknown>} */
    const body = { allowed };
    if (forRun) body.forRun = true;
    if (reason.value.trim()) body.message = reason.value.trim();
    try {
      await post(`/api/v1/runs/${runId}/permissions/${encodeURIComponent(request.requestId)}`, body);
      await refresh();
    } catch (error) {
      const isDecided = error instanceof ApiError && (error.status === 409 || error.status === 410);
      const decision = error instanceof ApiError ? error.body?.decision?.decision : undefined;
      const text = decision ? `Another client has answered: ${decision}.` : error instanceof Error ? error.message : String(error);
      const note = problem(text, error instanceof ApiError ? error.hint : undefined);
      if (isDecided) {
        buttons.replaceWith(note);
        setTimeout(refresh, 2000);
        return;
      }
      // The request still waits: the next answer may be taken.
      buttons.before(note);
      for (const button of buttons.querySelectorAll("button")) button.disabled = false;
    }
  }
  return card;
}

/** The page of all prompts: they stand above it. @param {HTMLElement} view */
export function showInbox(view) {
  const empty = element("p", { class: "empty" }, "Requests of running agents for permission appear here and on every page.");
  view.append(element("h1", {}, "Inbox"), empty);
}
