// @ts-check
// Permission prompts: a list that every page shows, and the badge in the title.

import { ApiError, get, post } from "/api.js";
import { element, problem, setRendered } from "/markup.js";

const EVERY_MS = 1500;

/** Prompts that are on the page, by run and request. @type {Map<string, HTMLElement>} */
const shown = new Map();

/** Looks for prompts as long as the page is open. */
export async function watchPrompts() {
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
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
      if (!(error instanceof ApiError)) throw error;
      const decision = error.body?.decision?.decision;
      buttons.replaceWith(problem(decision ? `Another client has answered: ${decision}.` : error.message, error.hint));
      setTimeout(refresh, 2000);
    }
  }
  return card;
}

/** The page of all prompts: they stand above it. @param {HTMLElement} view */
export function showInbox(view) {
  const empty = element("p", { class: "empty" }, "Requests of running agents for permission appear here and on every page.");
  view.append(element("h1", {}, "Inbox"), empty);
}
