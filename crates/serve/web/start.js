// @ts-check
// The form that starts a run.

import { ApiError, get, post } from "/api.js";
import { element, problem, select } from "/markup.js";

/** The choices of the last run, kept for the next. */
const CHOICES = "lapidary-start";

/** @param {AbortSignal} signal */
export function startForm(signal) {
  const kept = readChoices();
  const prompt = element("textarea", { id: "new-prompt", rows: 2, required: true, placeholder: "What should the agent do?" });
  const agent = select({ id: "new-agent" }, []);
  const directory = element("input", {
    id: "new-directory",
    type: "text",
    placeholder: "the server's directory",
    autocomplete: "off",
    spellcheck: "false",
  });
  const mode = select({ id: "new-mode" }, [
    ["", "as the server"],
    ["plan", "plan: reads only"],
    ["default", "default: asks"],
    ["acceptEdits", "acceptEdits: edits freely"],
  ]);
  const deny = element("input", {
    id: "new-deny",
    type: "text",
    placeholder: "execute:git push*, fetch",
    autocomplete: "off",
    spellcheck: "false",
  });
  const ask = element("input", {
    id: "new-ask",
    type: "text",
    placeholder: "edit:src/**",
    autocomplete: "off",
    spellcheck: "false",
  });
  const budget = element("input", {
    id: "new-budget",
    type: "text",
    placeholder: "tokens=200000",
    autocomplete: "off",
    spellcheck: "false",
  });
  const timeout = element("input", { id: "new-timeout", type: "number", min: 1, step: 1, placeholder: "none" });
  const conversation = element("input", { id: "new-conversation", type: "checkbox" });
  const message = element("div", { role: "status" });
  const submit = element(
    "button",
    { class: "primary", type: "submit" },
    "Start",
    element("kbd", { "aria-hidden": "true" }, "Ctrl ↵"),
  );
  const field = (/** @type {string} */ text, /** @type {HTMLElement} */ control, /** @type {string} */ note) =>
    element("label", { class: "field" }, element("span", {}, text), control, note ? element("small", {}, note) : null);
  const form = element(
    "form",
    { class: "start", onsubmit: start },
    element("label", { for: "new-prompt", class: "vh" }, "Prompt"),
    prompt,
    element(
      "div",
      { class: "fields" },
      field("Agent", agent, ""),
      field("Directory", directory, ""),
      field("Permissions", mode, ""),
      element("label", { class: "check" }, conversation, " keep open for more prompts"),
      submit,
    ),
    element(
      "details",
      { class: "options" },
      element("summary", {}, "Limits and rules"),
      element(
        "div",
        { class: "fields" },
        field("Deny", deny, "rules, separated by commas"),
        field("Ask before", ask, "rules, separated by commas"),
        field("Budget", budget, "tokens, cost, tool-calls, turns"),
        field("Timeout", timeout, "seconds"),
      ),
    ),
    message,
  );
  directory.value = kept.directory ?? "";
  mode.value = kept.mode ?? "";
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  listAgents(agent, kept.agent, signal);

  /** @param {SubmitEvent} event */
  async function start(event) {
    event.preventDefault();
    submit.disabled = true;
    const rules = { deny: listed(deny.value), ask: listed(ask.value) };
    /** @type {Record<string, unknown>} */
    const body = { prompt: prompt.value, agent: agent.value, requestKey: crypto.randomUUID() };
    if (directory.value.trim()) body.cwd = directory.value.trim();
    if (mode.value) body.permissionMode = mode.value;
    if (rules.deny.length || rules.ask.length) body.rules = rules;
    if (budget.value.trim()) body.budget = budget.value.trim();
    if (timeout.value) body.timeout = Number(timeout.value);
    if (conversation.checked) body.conversation = true;
    try {
      const run = await post("/api/v1/runs", body);
      localStorage.setItem(CHOICES, JSON.stringify({ agent: agent.value, directory: directory.value, mode: mode.value }));
      location.hash = `#/runs/${run.id}`;
    } catch (error) {
      submit.disabled = false;
      const known = error instanceof ApiError ? error : undefined;
      message.replaceChildren(problem(error instanceof Error ? error.message : String(error), known?.hint));
    }
  }
  return form;
}

/** Rules of a field. @param {string} text */
function listed(text) {
  return text
    .split(",")
    .map((it) => it.trim())
    .filter(Boolean);
}

/** @returns {{ agent?: string, directory?: string, mode?: string }} */
function readChoices() {
  try {
    return JSON.parse(localStorage.getItem(CHOICES) ?? "{}");
  } catch {
    return {};
  }
}

/**
 * Installed agents first, then the demo, then those that are known and not installed.
 * @param {HTMLSelectElement} agents
 * @param {string | undefined} last
 * @param {AbortSignal} signal
 */
async function listAgents(agents, last, signal) {
  const demo = element("option", { value: "demo" }, "demo (scripted)");
  agents.append(demo);
  let isChosen = false;
  agents.addEventListener("change", () => {
    isChosen = true;
  });
  /** @type {import("./types").AgentPrograms} */
  const { programs } = await get("/api/v1/agents", signal);
  const installed = programs
    .filter((it) => it.installed)
    .map((it) => element("option", { value: it.name }, it.version ? `${it.name} ${it.version}` : it.name));
  const missing = programs
    .filter((it) => !it.installed)
    .map((it) => element("option", { value: it.name, disabled: true }, it.name));
  const chosen = agents.value;
  agents.prepend(...installed);
  if (missing.length) agents.append(element("optgroup", { label: "not installed" }, ...missing));
  if (isChosen) {
    agents.value = chosen;
    return;
  }
  agents.selectedIndex = 0;
  if (last && [...agents.options].some((it) => it.value === last && !it.disabled)) agents.value = last;
}
