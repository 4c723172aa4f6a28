// @ts-check
// One run: as it goes on, or as it was recorded.

import { ApiError, follow, get, post } from "/api.js";
import { duration, short } from "/format.js";
import { setViewKeys } from "/keys.js";
import { agentMark, announce, copyButton, element, problem } from "/markup.js";
import { hasRequest } from "/requests.js";
import { elapsed, outcomeBadge } from "/runs.js";
import { Transcript } from "/transcript.js";

/** @typedef {import("./types").Facts} Facts */

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} id
 */
export async function showRun(view, signal, id) {
  const transcript = new Transcript(signal, { follows: true });
  const head = new RunHead(id, transcript.jumps);
  const composer = promptForm(id);
  const working = element("p", { class: "working", role: "status", hidden: true });
  view.append(head.crumbs);
  /** @type {Facts} */
  let facts = {};
  /** @type {import("./types").ShownRun} */
  let shown = await get(`/api/v1/runs/${id}`, signal);
  view.append(
    head.bar,
    head.facts,
    element(
      "div",
      { class: "reading" },
      element("div", {}, transcript.place, working, composer, transcript.toEnd),
      transcript.rail,
    ),
  );
  setViewKeys("This run", [
    ...transcript.keys(),
    ["s", "stop the run", () => head.stop.focus()],
    ["p", "write a prompt", () => composer.querySelector("textarea")?.focus()],
  ]);

  transcript.follows = shown.run.state === "running";
  draw();

  async function refresh() {
    shown = await get(`/api/v1/runs/${id}`, signal);
    transcript.follows = shown.run.state === "running";
    draw();
  }

  function draw() {
    head.draw(shown, facts);
    const isRunning = shown.run.state === "running";
    composer.hidden = !(isRunning && shown.isOpen);
    working.hidden = !isRunning;
    drawWorking();
  }

  function drawWorking() {
    head.drawBadge(shown.run);
    const isAsking = hasRequest(`runs/${id}`);
    working.textContent = isAsking
      ? "The agent waits for your answer."
      : facts.isWorking === false
        ? "The agent waits for a prompt."
        : "The agent works…";
    working.classList.toggle("asks", isAsking);
    working.classList.toggle("idle", !isAsking && facts.isWorking === false);
  }
  document.addEventListener("lapidary-requests", drawWorking, { signal });

  await follow(
    `/api/v1/runs/${id}/events?format=html`,
    signal,
    (event) => {
      if (event.name === "facts") {
        facts = event.data;
        draw();
        // A recording that has just begun does not tell yet that it goes on.
        if (!["running", "ended"].includes(shown.run.state)) refresh();
      } else if (event.name === "end") {
        transcript.end(event.data.html);
        return false;
      } else if (event.name === "block") {
        transcript.set(event.data.block, event.data.html);
      }
      return true;
    },
    (state) => {
      head.link.textContent = state === "live" ? "" : "Reconnecting…";
    },
  );
  head.link.textContent = "";
  // The recording tells its outcome a moment after the last event.
  for (let tries = 0; tries < 20 && !signal.aborted; tries++) {
    shown = await get(`/api/v1/runs/${id}`, signal);
    draw();
    if (shown.run.state === "ended") return announce(`The run has ended: ${head.badge.textContent}.`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** The title, the state and the facts of a run. */
class RunHead {
  /**
   * @param {string} id
   * @param {HTMLElement} jumps
   */
  constructor(id, jumps) {
    this.id = id;
    this.title = element("h1", {}, "…");
    this.badge = element("span", {});
    this.meters = element("span", { class: "meters" });
    this.link = element("span", { class: "link", role: "status" });
    this.stop = element(
      "button",
      { type: "button", class: "danger", hidden: true, onclick: () => this.send("stop", this.stop) },
      "Stop",
    );
    this.close = element(
      "button",
      {
        type: "button",
        hidden: true,
        title: "Take no more prompts: the run ends when its work is done",
        onclick: () => this.send("close", this.close),
      },
      "Finish",
    );
    this.crumbs = element("p", { class: "crumbs" }, element("a", { href: "#/runs" }, "Runs"), " / ", element("code", {}, id));
    this.bar = element("div", { class: "run-bar" }, this.badge, this.title, this.link, this.meters, jumps, this.close, this.stop);
    this.facts = element("dl", { class: "facts" });
  }

  /**
   * @param {"stop" | "close"} what
   * @param {HTMLButtonElement} button
   */
  async send(what, button) {
    button.disabled = true;
    try {
      await post(`/api/v1/runs/${this.id}/${what}`);
    } catch (error) {
      this.bar.after(problem(error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {import("./types").RunInfo} run */
  drawBadge(run) {
    const badge = outcomeBadge(run);
    if (badge.textContent === this.badge.textContent) return; // it pulses: a new one would begin anew
    this.badge.replaceWith(badge);
    this.badge = badge;
  }

  /**
   * @param {import("./types").ShownRun} shown
   * @param {Facts} facts
   */
  draw({ run, isServed, prompt, isOpen }, facts) {
    const isRunning = run.state === "running";
    const title = run.prompt || prompt || facts.title || "(no prompt)";
    this.title.textContent = title.split("\n")[0];
    this.title.title = title;
    document.dispatchEvent(new CustomEvent("lapidary-title", { detail: this.title.textContent }));
    this.stop.hidden = !isRunning || !isServed;
    this.close.hidden = !isRunning || !isOpen;
    const tokens = facts.totalTokens ?? run.totalTokens;
    const time = isRunning
      ? element("span", { "data-since": run.startedAt ?? facts.startedAt ?? "" }, elapsed(run.startedAt ?? facts.startedAt))
      : element("span", {}, duration(run.durationMs));
    this.meters.replaceChildren(
      time,
      ...[tokens ? `${short(tokens)} tokens` : "", facts.cost ?? ""].filter(Boolean).map((it) => element("span", {}, it)),
    );
    const started = run.startedAt ?? facts.startedAt;
    /** @type {[string, Node | string | undefined | null, string?][]} */
    const rows = [
      ["Agent", agentMark(run.agent ?? facts.provider)],
      ["Model", facts.model ?? run.model],
      ["Started", started ? new Date(started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : ""],
      ["Tokens", tokens ? tokens.toLocaleString() : "", facts.tokenParts],
      ["Cost", facts.cost, facts.costBasis ?? ""],
      [
        "Tool calls",
        facts.toolCalls ? facts.toolCalls.toLocaleString() : "",
        facts.failedCalls ? `${facts.failedCalls} failed` : "",
      ],
      ["Directory", (run.project ?? facts.cwd) ? element("code", {}, run.project ?? facts.cwd) : ""],
      ["Session", sessionLink(run.sessionId ?? facts.sessionId)],
    ];
    this.facts.replaceChildren(...factRows(rows));
    if (!isRunning)
      this.facts.append(
        element(
          "div",
          {},
          element("dt", {}, "On the command line"),
          element("dd", {}, copyButton(`lapidary runs open ${run.id}`, "Copy command")),
        ),
      );
  }
}

/** @param {string | null | undefined} id */
function sessionLink(id) {
  return id ? element("a", { href: `#/sessions/${id}` }, element("code", {}, id.length > 13 ? `${id.slice(0, 8)}…` : id)) : "";
}

/** @param {[string, Node | string | undefined | null, string?][]} rows */
export function factRows(rows) {
  return rows
    .filter(([, value]) => value)
    .map(([name, value, aside]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value, aside ? element("small", {}, aside) : null)),
    );
}

/**
 * The form for the next prompt of a conversation.
 * @param {string} id
 */
function promptForm(id) {
  const text = element("textarea", { rows: 2, required: true, placeholder: "Another prompt", "aria-label": "Another prompt" });
  const message = element("div", { role: "status" });
  const form = element(
    "form",
    { class: "start composer", hidden: true, onsubmit: send },
    text,
    element(
      "div",
      { class: "fields" },
      message,
      element("button", { type: "submit", class: "primary" }, "Send", element("kbd", { "aria-hidden": "true" }, "Ctrl ↵")),
    ),
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  /** @param {SubmitEvent} event */
  async function send(event) {
    event.preventDefault();
    const said = text.value;
    text.value = "";
    message.replaceChildren();
    try {
      // The response comes when the turn is over; until then the transcript shows it.
      const result = await post(`/api/v1/runs/${id}/commands`, { command: "send_message", text: said });
      if (result.isError) throw new Error(result.message);
    } catch (error) {
      text.value ||= said; // to be sent again
      const hint = error instanceof ApiError ? error.hint : undefined;
      message.replaceChildren(problem(error instanceof Error ? error.message : String(error), hint));
    }
  }
  return form;
}
