// @ts-check
// The list of runs with the form that starts one, and a run as it goes on.

import { ApiError, follow, get, post } from "/api.js";
import { ago, duration, element, problem, setRendered, shortPath, tokens } from "/markup.js";

const EVERY_MS = 2000;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showRuns(view, signal) {
  const rows = element("tbody");
  const note = element("p", { class: "empty", hidden: true }, "No run is recorded yet. Start one above; the agent `demo` needs nothing installed.");
  view.append(element("h1", {}, "Runs"), startForm(signal),
    element("div", { class: "scroll" }, element("table", { class: "list" },
      element("thead", {}, element("tr", {}, ...["Outcome", "Prompt", "Agent", "Project", "Tokens", "Time", "Started"].map((it) => element("th", { scope: "col" }, it)))),
      rows)), note);
  let before = "";
  while (!signal.aborted) {
    if (!document.hidden) {
      const { runs } = await get("/api/v1/runs?limit=100", signal);
      const now = JSON.stringify(runs);
      if (now !== before) {
        rows.replaceChildren(...runs.map(runRow));
        note.hidden = runs.length > 0;
      }
      before = now;
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

/** @param {any} run */
function runRow(run) {
  const cost = run.costUsd === undefined ? "" : ` · ${run.costBasis === "reported" ? "" : "~"}$${run.costUsd.toFixed(2)}`;
  return element("tr", {},
    element("td", {}, outcomeBadge(run)),
    element("td", { class: "wide" }, element("a", { href: `#/runs/${run.id}` }, run.prompt || "(no prompt)")),
    element("td", {}, run.agent ?? ""),
    element("td", { title: run.project ?? "" }, shortPath(run.project)),
    element("td", { class: "number" }, tokens(run.totalTokens) + cost),
    element("td", { class: "number" }, duration(run.durationMs)),
    element("td", {}, element("time", { datetime: run.startedAt ?? "" }, ago(run.startedAt))));
}

/** @param {any} run */
function outcomeBadge(run) {
  if (run.state === "running") return element("span", { class: "badge running" }, "running");
  if (run.state !== "ended") return element("span", { class: "badge warn" }, run.state);
  const outcome = run.outcome ?? (run.agentExitCode === 0 ? "completed" : "failed");
  const kind = outcome === "completed" ? "good" : outcome === "failed" ? "bad" : "warn";
  return element("span", { class: `badge ${kind}`, title: run.cause ?? "" }, outcome);
}

/** @param {AbortSignal} signal */
function startForm(signal) {
  const prompt = /** @type {HTMLTextAreaElement} */ (element("textarea", { id: "new-prompt", rows: 2, required: true, placeholder: "What should the agent do?" }));
  const agent = /** @type {HTMLSelectElement} */ (element("select", { id: "new-agent" }, element("option", { value: "demo" }, "demo (scripted)")));
  const directory = /** @type {HTMLInputElement} */ (element("input", { id: "new-directory", type: "text", placeholder: "." }));
  const mode = /** @type {HTMLSelectElement} */ (element("select", { id: "new-mode" },
    element("option", { value: "" }, "as the server"), element("option", { value: "plan" }, "plan"),
    element("option", { value: "default" }, "default"), element("option", { value: "acceptEdits" }, "acceptEdits")));
  const message = element("div", { role: "status" });
  const form = element("form", { class: "start", onsubmit: start },
    element("label", { for: "new-prompt", class: "vh" }, "Prompt"), prompt,
    element("div", { class: "fields" },
      element("label", {}, "Agent ", agent), element("label", {}, "Directory ", directory),
      element("label", {}, "Permissions ", mode), element("button", { class: "primary", type: "submit" }, "Start")),
    message);
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) /** @type {HTMLFormElement} */ (form).requestSubmit();
  });
  listAgents(agent, signal);

  /** @param {SubmitEvent} event */
  async function start(event) {
    event.preventDefault();
    /** @type {Record<string, unknown>} */
    const body = { prompt: prompt.value, agent: agent.value, requestKey: crypto.randomUUID() };
    if (directory.value.trim()) body.cwd = directory.value.trim();
    if (mode.value) body.permissionMode = mode.value;
    try {
      const run = await post("/api/v1/runs", body);
      location.hash = `#/runs/${run.id}`;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      message.replaceChildren(problem(error.message, error.hint));
    }
  }
  return form;
}

/**
 * @param {HTMLSelectElement} select
 * @param {AbortSignal} signal
 */
async function listAgents(select, signal) {
  const found = await get("/api/v1/agents", signal);
  const installed = found.programs.filter((/** @type {any} */ program) => program.installed);
  select.prepend(...installed.map((/** @type {any} */ program) => element("option", { value: program.name }, program.name)));
  select.selectedIndex = 0;
}

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} id
 */
export async function showRun(view, signal, id) {
  const facts = element("p", { class: "facts-line" });
  const stop = /** @type {HTMLButtonElement} */ (element("button", { type: "button", class: "danger", onclick: stopRun }, "Stop"));
  const state = element("span", { class: "link", role: "status" });
  const transcript = element("div", { class: "transcript", "aria-live": "off" });
  view.append(element("p", { class: "crumbs" }, element("a", { href: "#/runs" }, "Runs"), ` / ${id}`),
    element("div", { class: "run-head" }, facts, state, stop), transcript);
  await showFacts();

  async function stopRun() {
    stop.disabled = true;
    await post(`/api/v1/runs/${id}/stop`, {});
  }

  async function showFacts() {
    const { run, isServed } = await get(`/api/v1/runs/${id}`, signal);
    stop.hidden = run.state !== "running" || !isServed;
    facts.replaceChildren(outcomeBadge(run), " ",
      [run.agent, run.model, shortPath(run.project), duration(run.durationMs), run.totalTokens && `${tokens(run.totalTokens)} tokens`, ago(run.startedAt)].filter(Boolean).join(" · "));
  }

  const blocks = new BlockList(transcript);
  await follow(`/api/v1/runs/${id}/events?format=html`, signal, (event) => {
    if (event.name === "end") {
      blocks.end(event.data.html);
      return false;
    }
    blocks.set(event.data.block, event.data.html);
    return true;
  }, (now) => {
    state.textContent = now === "live" ? "" : "reconnecting…";
  });
  state.textContent = "";
  if (!signal.aborted) await showFacts();
}

/** Blocks of a transcript, each an element with its number. Changes are made together, once per frame. */
export class BlockList {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    /** @type {HTMLElement[]} */
    this.blocks = [];
    /** @type {Map<number, string>} */
    this.changed = new Map();
    this.isPlanned = false;
    /** Whether the page scrolls with the end, where the reader is there. */
    this.follows = true;
  }

  /**
   * @param {number} number
   * @param {string} html
   */
  set(number, html) {
    this.changed.set(number, html);
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.isPlanned = false;
    const follows = this.follows && isAtEnd();
    for (const [number, html] of this.changed) {
      let block = this.blocks[number];
      if (!block) {
        block = element("div", { class: "block", "data-block": number });
        this.blocks[number] = block;
        this.place.append(block);
      }
      const open = [...block.querySelectorAll("details")].map((it) => it.open);
      setRendered(block, html);
      // A reader who has unfolded a call keeps it unfolded.
      if (open.length) block.querySelectorAll("details").forEach((it, at) => { if (open[at]) it.open = true; });
    }
    this.changed.clear();
    if (follows) scrollTo({ top: document.body.scrollHeight });
  }

  /** @param {string} html */
  end(html) {
    this.draw();
    const end = element("div", { class: "block end" });
    setRendered(end, html);
    this.place.append(end);
  }
}

function isAtEnd() {
  return innerHeight + scrollY >= document.body.scrollHeight - 80;
}
