// @ts-check
// The doctor's report: what is installed, what works, and why not.

import { get } from "/api.js";
import { counted } from "/format.js";
import { setViewKeys } from "/keys.js";
import { element, problem, select, sentence } from "/markup.js";

const MARKS = /** @type {Record<string, [string, string]>} */ ({
  ok: ["✓", "good"],
  problem: ["✗", "bad"],
  warning: ["!", "warn"],
  skipped: ["–", "none"],
});

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showDoctor(view, signal) {
  const agent = select({ "aria-label": "Agent", onchange: () => look() }, [["", "the configured agent"]]);
  const report = element("div", { class: "report", "aria-live": "polite" });
  view.append(
    element("div", { class: "list-head" }, element("h1", {}, "Doctor"), element("div", { class: "filters" }, agent)),
    report,
  );
  setViewKeys("Doctor", []);
  /** @type {import("./types").AgentPrograms} */
  const { programs } = await get("/api/v1/agents", signal);
  agent.append(
    ...programs.map((it) => element("option", { value: it.name }, it.installed ? it.name : `${it.name} (not installed)`)),
  );
  await look();

  async function look() {
    const wanted = agent.value;
    report.replaceChildren(element("p", { class: "empty" }, "Looking…"));
    try {
      const found = await get(`/api/v1/doctor${wanted ? `?agent=${encodeURIComponent(wanted)}` : ""}`, signal);
      if (wanted === agent.value) report.replaceChildren(...rows(found));
    } catch (error) {
      if (!signal.aborted) report.replaceChildren(problem(error instanceof Error ? error.message : String(error)));
    }
  }
}

/** @param {{ agent?: string, checks?: import("./types").Check[] }} found */
function rows({ agent, checks = [] }) {
  const problems = checks.filter((it) => it.state === "problem").length;
  const verdict = problems ? `${counted(problems, "problem")} with ${agent ?? "the agent"}` : `${agent ?? "The agent"} can run`;
  return [
    element("p", { class: `verdict-line ${problems ? "bad" : "good"}` }, verdict),
    element("ul", { class: "checks" }, ...checks.map(checkRow)),
  ];
}

/** @param {import("./types").Check} check */
function checkRow(check) {
  const [mark, kind] = MARKS[check.state] ?? ["?", "warn"];
  const details = check.details ?? [];
  return element(
    "li",
    { class: `check-row ${kind}` },
    element("span", { class: "mark", "aria-hidden": "true" }, mark),
    element(
      "div",
      {},
      element("h2", {}, check.name.replaceAll("_", " "), element("span", { class: "vh" }, `: ${check.state}`)),
      element("p", {}, ...sentence(check.message ?? "")),
      check.remedy ? element("p", { class: "remedy" }, ...sentence(check.remedy)) : null,
      details.length
        ? element(
            "details",
            {},
            element("summary", {}, counted(details.length, "detail")),
            element("ul", {}, ...details.map((it) => element("li", {}, ...sentence(it)))),
          )
        : null,
    ),
  );
}
