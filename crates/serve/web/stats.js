// @ts-check
// Statistics of all sessions, by day, agent, model, project and tool.

import { get } from "/api.js";
import { barChart, dayChart, sum } from "/charts.js";
import { cost, short, shortPath } from "/format.js";
import { setViewKeys } from "/keys.js";
import { agentClass, element, noSessions, select } from "/markup.js";

/** @typedef {import("./types").UsageRow} UsageRow */

const MOST_BARS = 12;
const DAY_MS = 86_400_000;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showStats(view, signal) {
  const counting = element("p", { class: "empty", role: "status" }, "Counting the tokens of all sessions…");
  const head = element("div", { class: "list-head" }, element("h1", {}, "Stats"));
  view.append(head, counting);
  setViewKeys("Stats", []);
  /** @type {import("./types").Stats} */
  const stats = await get("/api/v1/stats", signal);
  counting.remove();
  if (!stats.sessions) return view.append(noSessions("Nothing to count yet"));
  const distinct = (/** @type {(row: UsageRow) => string | undefined} */ of) =>
    [...new Set(stats.usage.map(of))].filter((it) => it !== undefined).sort();
  const range = select({ "aria-label": "Time" }, [
    ["7", "7 days"],
    ["30", "30 days"],
    ["90", "90 days"],
    ["0", "all time"],
  ]);
  const agent = select({ "aria-label": "Agent" }, [
    ["", "all agents"],
    ...distinct((row) => row.provider).map((it) => /** @type {[string, string]} */ ([it, it])),
  ]);
  const project = select({ "aria-label": "Project" }, [
    ["", "all projects"],
    ...distinct((row) => row.project).map((it) => /** @type {[string, string]} */ ([it, shortPath(it)])),
  ]);
  const measure = select({ "aria-label": "Measure" }, [
    ["tokens", "tokens"],
    ["cost", "cost"],
  ]);
  range.value = "30";
  const charts = element("div", { class: "charts" });
  const tiles = element("dl", { class: "tiles" });
  head.append(element("div", { class: "filters" }, range, agent, project, measure));
  view.append(tiles, charts);
  for (const it of [range, agent, project, measure]) it.addEventListener("change", draw);
  draw();

  function draw() {
    const from = Number(range.value) ? new Date(Date.now() - (Number(range.value) - 1) * DAY_MS).toISOString().slice(0, 10) : "";
    const rows = stats.usage.filter(
      (row) =>
        (!agent.value || row.provider === agent.value) &&
        (!project.value || row.project === project.value) &&
        (!from || (row.date ?? "") >= from),
    );
    const isCost = measure.value === "cost";
    const size = (/** @type {UsageRow} */ row) => (isCost ? (row.cost ?? 0) : row.tokens.total);
    const text = (/** @type {number} */ value) => (isCost ? cost(value) : short(Math.round(value)));
    tiles.replaceChildren(...tilesOf(rows, stats));
    const series = ranked(rows, (row) => row.provider, size).map(([name]) => name);
    const bars = (
      /** @type {(row: UsageRow) => string | undefined} */ of,
      /** @type {(name: string) => string} */ name = (it) => it,
    ) =>
      ranked(rows, (row) => of(row) ?? "unknown", size)
        .slice(0, MOST_BARS)
        .map(([key, value]) => ({ name: name(key), value, text: text(value) }));
    charts.replaceChildren(
      panel(
        "By day",
        rows.length
          ? dayChart(`${isCost ? "Cost" : "Tokens"} by day and agent`, daysOf(rows, from, size), series, text)
          : element("p", { class: "empty" }, "No answer of a model in this time."),
        "wide",
      ),
      panel(
        "By agent",
        barChart(
          "By agent",
          ranked(rows, (row) => row.provider, size).map(([name, value]) => ({
            name,
            value,
            text: text(value),
            class: agentClass(name),
          })),
        ),
      ),
      panel(
        "By model",
        barChart(
          "By model",
          bars((row) => row.model),
        ),
      ),
      panel(
        "By project",
        barChart(
          "By project",
          bars((row) => row.project, shortPath),
        ),
      ),
      panel(
        "Tools, all time",
        barChart(
          "Calls of tools, all time",
          stats.tools
            .slice(0, MOST_BARS)
            .map((it) => ({
              name: it.name,
              value: it.calls,
              bad: it.errors,
              text: it.errors ? `${short(it.calls)}, ${it.errors} failed` : short(it.calls),
            })),
        ),
      ),
    );
    const note = stats.pricesAsOf ? `Cost at list prices of ${stats.pricesAsOf}.` : "";
    const unpriced = stats.unpricedTokens ? ` ${short(stats.unpricedTokens)} tokens have no known price.` : "";
    charts.append(element("p", { class: "note wide" }, `${note}${unpriced} Days are those of UTC.`));
  }
}

/**
 * @param {UsageRow[]} rows
 * @param {import("./types").Stats} stats
 */
function tilesOf(rows, stats) {
  const total = (/** @type {(row: UsageRow) => number} */ of) => sum(rows.map(of));
  const tokens = total((row) => row.tokens.total);
  const cached = total((row) => row.tokens.cached);
  const input = total((row) => row.tokens.input);
  const failed = stats.toolCalls ? Math.round((stats.toolErrors / stats.toolCalls) * 100) : 0;
  const known = [
    ["Tokens", short(tokens), `${short(input)} in, ${short(total((row) => row.tokens.output))} out`],
    ["Cached input", input ? `${Math.round((cached / input) * 100)} %` : "–", `${short(cached)} tokens`],
    ["Cost", cost(total((row) => row.cost ?? 0)), "where the price is known"],
    ["Answers", short(total((row) => row.answers)), "of models"],
    ["Sessions, all time", short(stats.sessions), `${short(stats.turns)} prompts`],
    ["Tool calls, all time", short(stats.toolCalls), `${failed} % failed`],
  ];
  return known.map(([name, value, aside]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, aside))),
  );
}

/**
 * Sums by name, the largest first, without those of nothing.
 * @param {UsageRow[]} rows
 * @param {(row: UsageRow) => string} name
 * @param {(row: UsageRow) => number} size
 */
function ranked(rows, name, size) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const row of rows) sums.set(name(row), (sums.get(name(row)) ?? 0) + size(row));
  return [...sums].filter(([, value]) => value > 0).sort((one, other) => other[1] - one[1]);
}

/**
 * Every day from the first to today, also those without a row.
 * @param {UsageRow[]} rows
 * @param {string} from
 * @param {(row: UsageRow) => number} size
 */
function daysOf(rows, from, size) {
  /** @type {Map<string, Map<string, number>>} */
  const found = new Map();
  for (const row of rows) {
    if (!row.date) continue;
    const parts = found.get(row.date) ?? new Map();
    parts.set(row.provider, (parts.get(row.provider) ?? 0) + size(row));
    found.set(row.date, parts);
  }
  const dates = [...found.keys()].sort();
  const first = from || dates[0];
  const last = from ? new Date().toISOString().slice(0, 10) : (dates.at(-1) ?? first);
  const days = [];
  for (let at = Date.parse(first); at <= Date.parse(last) && days.length < 400; at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    days.push({ date, parts: found.get(date) ?? new Map() });
  }
  return days;
}

/**
 * @param {string} title
 * @param {Node} content
 * @param {string} [kind]
 */
function panel(title, content, kind = "") {
  return element("section", { class: `panel ${kind}` }, element("h2", {}, title), content);
}
