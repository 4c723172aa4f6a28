// @ts-check
// Charts as SVG: a bar for each day, and bars side by side. Each has its numbers as a table, too.

import { agentClass, element, svg } from "/markup.js";

const HEIGHT = 200;
const LEFT = 52;
const BOTTOM = 24;
const TOP = 12;

/** The values of one day, by series. @typedef {{ date: string, parts: Map<string, number> }} Day */

/**
 * Stacked bars, one for each day between the first and the last.
 * @param {string} label
 * @param {Day[]} days
 * @param {string[]} series Agents, the one at the bottom first.
 * @param {(value: number) => string} text
 */
export function dayChart(label, days, series, text) {
  const width = 1000;
  const most = niceMost(Math.max(...days.map((day) => sum(day.parts.values())), 0));
  const scale = (/** @type {number} */ value) => (value / most) * (HEIGHT - TOP - BOTTOM);
  const step = (width - LEFT) / days.length;
  const bar = Math.max(1, Math.min(34, step * 0.72));
  const chart = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "chart", role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    const y = HEIGHT - BOTTOM - scale(most * part);
    chart.append(
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }),
      svg("text", { class: "tick", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text(most * part)),
    );
  }
  const every = Math.ceil(days.length / 10);
  days.forEach((day, at) => {
    const x = LEFT + at * step + (step - bar) / 2;
    let y = HEIGHT - BOTTOM;
    const column = svg(
      "g",
      { class: "column" },
      svg("title", {}, dayText(day, series, text)),
      svg("rect", { class: "hit-area", x: LEFT + at * step, y: TOP, width: step, height: HEIGHT - TOP - BOTTOM }),
    );
    for (const name of series) {
      const height = scale(day.parts.get(name) ?? 0);
      if (!height) continue;
      y -= height;
      column.append(svg("rect", { class: `fill ${agentClass(name)}`, x, y, width: bar, height: Math.max(height, 1), rx: 2 }));
    }
    chart.append(column);
    if (at % every === 0)
      chart.append(
        svg(
          "text",
          { class: "tick", x: LEFT + at * step + step / 2, y: HEIGHT - 6, "text-anchor": "middle" },
          shortDay(day.date),
        ),
      );
  });
  const rows = days
    .filter((day) => day.parts.size)
    .map((day) => [day.date, ...series.map((name) => text(day.parts.get(name) ?? 0))]);
  return element(
    "figure",
    { class: "chart-box" },
    legend(series),
    element("div", { class: "chart-scroll" }, chart),
    table(label, ["Day", ...series], rows),
  );
}

/** @param {string[]} series */
function legend(series) {
  return element("ul", { class: "legend" }, ...series.map((name) => element("li", { class: agentClass(name) }, name)));
}

/**
 * @param {Day} day
 * @param {string[]} series
 * @param {(value: number) => string} text
 */
function dayText(day, series, text) {
  const parts = series.filter((name) => day.parts.get(name)).map((name) => `${name}: ${text(day.parts.get(name) ?? 0)}`);
  return [`${day.date}: ${text(sum(day.parts.values()))}`, ...parts].join("\n");
}

/** @typedef {{ name: string, value: number, text: string, bad?: number, class?: string }} Bar */

/**
 * Bars one below the other, the longest first. `bad` is the part of the value that stands for failures.
 * @param {string} label
 * @param {Bar[]} bars
 */
export function barChart(label, bars) {
  if (!bars.length) return element("p", { class: "note" }, "None.");
  const most = Math.max(...bars.map((it) => it.value)) || 1;
  return element(
    "table",
    { class: "bars", "aria-label": label },
    element(
      "tbody",
      {},
      ...bars.map((it) => {
        const share = (/** @type {number} */ value) => (value / most) * 100;
        const chart = svg(
          "svg",
          { class: "bar-line", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
          svg("rect", { class: "track", x: 0, y: 0, width: 100, height: 8 }),
          svg("rect", {
            class: `fill ${it.class ?? "of-accent"}`,
            x: 0,
            y: 0,
            width: it.value ? Math.max(share(it.value), 0.4) : 0,
            height: 8,
          }),
          svg("rect", { class: "fill of-failure", x: 0, y: 0, width: share(it.bad ?? 0), height: 8 }),
        );
        return element(
          "tr",
          {},
          element("th", { scope: "row", title: it.name }, it.name),
          element("td", { class: "wide" }, chart),
          element("td", { class: "number" }, it.text),
        );
      }),
    ),
  );
}

/**
 * The numbers of a chart.
 * @param {string} label
 * @param {string[]} head
 * @param {string[][]} rows
 */
function table(label, head, rows) {
  return element(
    "details",
    { class: "numbers" },
    element("summary", {}, "Numbers"),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers: ${label}` },
      element(
        "table",
        { class: "list" },
        element("thead", {}, element("tr", {}, ...head.map((it) => element("th", { scope: "col" }, it)))),
        element(
          "tbody",
          {},
          ...rows.map(([first, ...rest]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row" }, first),
              ...rest.map((it) => element("td", { class: "number" }, it)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {Iterable<number>} values */
export function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** The next round number. @param {number} value */
function niceMost(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((it) => it * power).find((it) => it >= value * 0.999) ?? value;
}

/** @param {string} date */
function shortDay(date) {
  return new Date(`${date}T12:00:00Z`).toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
}
