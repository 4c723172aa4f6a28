// @ts-check
// Statistics and the doctor's report.

import { get } from "/api.js";
import { element, tokens } from "/markup.js";

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showStats(view, signal) {
  view.append(element("h1", {}, "Stats"), element("p", { class: "empty" }, "Counting…"));
  const stats = await get("/api/v1/stats", signal);
  view.lastElementChild?.remove();
  const total = stats.totals ?? stats;
  view.append(element("dl", { class: "facts" }, ...facts(total)));
  for (const [title, rows, name] of [["By model", stats.models ?? [], "model"], ["By tool", stats.tools ?? [], "name"]]) {
    if (rows.length) view.append(element("h2", {}, title), bars(rows, name));
  }
  const days = stats.days ?? [];
  if (days.length) view.append(element("h2", {}, "By day"), bars(days, "date"));
}

/** @param {any} total */
function facts(total) {
  const known = [["Sessions", total.sessions], ["Turns", total.turns], ["Tool calls", total.toolCalls], ["Tokens", tokens(total.tokens?.total ?? total.totalTokens)]];
  return known.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) =>
    element("div", {}, element("dt", {}, String(name)), element("dd", {}, String(value))));
}

/**
 * @param {any[]} rows
 * @param {string} name
 */
function bars(rows, name) {
  const size = (/** @type {any} */ row) => row.tokens?.total ?? row.totalTokens ?? row.calls ?? row.turns ?? 0;
  const most = Math.max(1, ...rows.map(size));
  return element("table", { class: "bars" }, element("tbody", {}, ...rows.slice(-40).map((row) => {
    const meter = element("meter", { min: 0, max: most, value: size(row) });
    return element("tr", {}, element("th", { scope: "row" }, String(row[name] ?? row.name ?? "")), element("td", { class: "number" }, tokens(size(row))), element("td", { class: "wide" }, meter));
  })));
}

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 */
export async function showDoctor(view, signal) {
  view.append(element("h1", {}, "Doctor"), element("p", { class: "empty" }, "Looking…"));
  const report = await get("/api/v1/doctor", signal);
  view.lastElementChild?.remove();
  const kind = (/** @type {string} */ state) => (state === "ok" ? "good" : state === "problem" ? "bad" : "warn");
  view.append(element("table", { class: "list" }, element("tbody", {}, ...(report.checks ?? []).map((/** @type {any} */ check) =>
    element("tr", {}, element("td", {}, element("span", { class: `badge ${kind(check.state)}` }, check.state)),
      element("th", { scope: "row" }, check.name),
      element("td", { class: "wide" }, check.message ?? "", check.remedy ? element("p", { class: "note" }, "Hint: ", check.remedy) : null))))));
}
