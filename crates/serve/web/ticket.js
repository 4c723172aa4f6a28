// @ts-check
// One ticket of a fleet: its place in the queue, its attempts, and what its agent said.

import { ApiError, get, lines, post } from "/api.js";
import { cost, short } from "/format.js";
import { ticketBadge, timeOf } from "/fleet.js";
import { setViewKeys } from "/keys.js";
import { agentMark, copyButton, element, problem } from "/markup.js";
import { hasRequest } from "/requests.js";
import { factRows } from "/run.js";
import { Transcript } from "/transcript.js";

/** @typedef {import("./types").FleetTicketReport} FleetTicketReport */

/** The pause between two looks. A log that takes long to read is read more seldom. */
const EVERY_MS = 2000;
const READING_SHARE = 5;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} id
 */
export async function showTicket(view, signal, id) {
  const transcript = new Transcript(signal, { follows: true });
  const title = element("h1", {}, "…");
  let badge = element("span", {});
  const meters = element("span", { class: "meters" });
  const cancel = element("button", { type: "button", class: "danger", hidden: true, onclick: () => end() }, "Cancel");
  const bar = element("div", { class: "run-bar" }, badge, title, meters, transcript.jumps, cancel);
  const facts = element("dl", { class: "facts" });
  const attempts = element("div", { class: "attempts" });
  const working = element("p", { class: "working", role: "status", hidden: true });
  view.append(element("p", { class: "crumbs" }, element("a", { href: "#/fleet" }, "Fleet"), " / ", element("code", {}, id)));
  /** @type {FleetTicketReport} */
  let ticket = await get(`/api/v1/fleet/tickets/${id}`, signal);
  view.append(
    bar,
    facts,
    attempts,
    element("div", { class: "reading" }, element("div", {}, transcript.place, working, transcript.toEnd), transcript.rail),
  );
  setViewKeys("This ticket", transcript.keys());

  async function end() {
    cancel.disabled = true;
    try {
      await post(`/api/v1/fleet/tickets/${id}/cancel`);
    } catch (error) {
      cancel.disabled = false;
      bar.after(problem(error instanceof Error ? error.message : String(error), error instanceof ApiError ? error.hint : undefined));
    }
  }

  /** @param {FleetTicketReport} ticket */
  function draw(ticket) {
    const name = ticket.title || "(no prompt)";
    title.textContent = name;
    title.title = name;
    document.dispatchEvent(new CustomEvent("lapidary-title", { detail: name }));
    const made = ticketBadge(ticket);
    badge.replaceWith(made);
    badge = made;
    const sizes = [ticket.totalTokens ? `${short(ticket.totalTokens)} tokens` : "", ticket.costUsd ? cost(ticket.costUsd) : ""];
    meters.replaceChildren(...[timeOf(ticket), ...sizes].filter(Boolean).map((it) => element("span", {}, it)));
    cancel.hidden = ticket.state === "done" || Boolean(ticket.cancelledBy);
    facts.replaceChildren(...factRows(factsOf(ticket)));
    attempts.replaceChildren(...attemptNotes(ticket));
    working.hidden = ticket.state === "done";
    drawWorking(ticket);
  }

  /** @param {FleetTicketReport} ticket */
  function drawWorking(ticket) {
    const isAsking = hasRequest(`fleet/${id}`);
    const words = /** @type {Record<string, string>} */ ({
      waiting: "The ticket waits for a worker.",
      blocked: "The ticket waits for other tickets.",
    });
    working.textContent = isAsking ? "The agent waits for your answer." : (words[ticket.state] ?? "The agent works…");
    working.classList.toggle("asks", isAsking);
    working.classList.toggle("idle", !isAsking && ticket.state !== "running");
  }

  let read = "";
  let pause = EVERY_MS;
  for (;;) {
    transcript.follows = ticket.state === "running";
    draw(ticket);
    const last = ticket.attemptList.at(-1);
    const now = last ? `${last.run} ${last.events}` : "";
    if (last?.events && now !== read) {
      const began = Date.now();
      await readLog(transcript, id, signal);
      pause = Math.max(EVERY_MS, READING_SHARE * (Date.now() - began));
      read = now;
    }
    if (ticket.state === "done") return;
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (signal.aborted) return;
    ticket = await get(`/api/v1/fleet/tickets/${id}`, signal);
  }
}

/**
 * @param {Transcript} transcript
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function readLog(transcript, id, signal) {
  await lines(`/api/v1/fleet/tickets/${id}/events?format=blocks`, signal, (it) => {
    if (!it.facts) transcript.set(it.block, it.html);
  });
  transcript.draw();
}

/**
 * @param {FleetTicketReport} ticket
 * @returns {[string, Node | string | undefined | null, string?][]}
 */
function factsOf(ticket) {
  const time = (/** @type {string | undefined | null} */ it) =>
    it ? new Date(it).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "";
  const others = (ticket.waitsFor ?? []).flatMap((it, at) => [at ? ", " : "", element("a", { href: `#/fleet/${it}` }, it)]);
  return [
    ["Agent", ticket.agent ? agentMark(ticket.agent) : ""],
    ["Submitted", time(ticket.createdAt), `by ${ticket.createdBy}`],
    ["Not before", Date.parse(ticket.notBefore) > Date.now() ? time(ticket.notBefore) : ""],
    ["Waits for", others.length ? element("span", {}, ...others) : ""],
    ["Lanes", (ticket.lanes ?? []).join(", ")],
    ["Needs", (ticket.needs ?? []).join(", ")],
    ["Priority", ticket.priority ? String(ticket.priority) : ""],
    ["Attempts", `${ticket.attempts} of ${ticket.maxAttempts}`, ticket.lost ? `${ticket.lost} lost their worker` : ""],
    ["Ended", time(ticket.endedAt), ticket.cause?.replaceAll("_", " ")],
    ["Cancelled by", ticket.cancelledBy, ticket.cancelReason],
    ["On the command line", copyButton(`lapidary fleet events ${ticket.ticket}`, "Copy command")],
  ];
}

/** What led to the end of each attempt that did not complete. @param {FleetTicketReport} ticket */
function attemptNotes(ticket) {
  const failed = ticket.attemptList.filter((it) => it.outcome && it.outcome !== "completed");
  return failed.map((it) => {
    const evidence = /** @type {{ message?: string, hint?: string } | undefined} */ (it.evidence);
    const end = `Attempt ${it.attempt} ${it.outcome} (${it.cause?.replaceAll("_", " ")})`;
    return element(
      "p",
      { class: "note" },
      evidence?.message ? `${end}: ${evidence.message}.` : `${end}.`,
      evidence?.hint ? ` Hint: ${evidence.hint}.` : "",
    );
  });
}
