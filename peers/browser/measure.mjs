// Main-thread time of the page with a long transcript, and of scrolling through it. Arguments: URL, token, the place of the transcript
// (`#/sessions/ID`), the count of its prompts. Prints one JSON.
import { startChromium } from "./chromium.mjs";

const [url, token, place, wanted] = process.argv.slice(2);
const browser = await startChromium();
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.addInitScript(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((it) => Math.round(it.duration)))).observe({
    entryTypes: ["longtask"],
  });
});
const page = await context.newPage();
const devtools = await context.newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });

/** Seconds of the main thread so far, by kind. */
async function costs() {
  const { metrics } = await devtools.send("Performance.getMetrics");
  const of = (name) => metrics.find((it) => it.name === name)?.value ?? 0;
  return {
    task: of("TaskDuration"),
    script: of("ScriptDuration"),
    style: of("RecalcStyleDuration"),
    layout: of("LayoutDuration"),
    nodes: of("Nodes"),
    heap: of("JSHeapUsedSize"),
  };
}

const since = (before, after) =>
  Object.fromEntries(["task", "script", "style", "layout"].map((it) => [it, Math.round((after[it] - before[it]) * 1000)]));
const takeLongTasks = () => page.evaluate(() => window.longTasks.splice(0));

const bodies = [];
page.on("response", (response) => {
  if (!response.url().includes("/api/")) bodies.push(response.body());
});
await page.goto(`${url}/#token=${token}`);
await page.waitForSelector(".rows .empty, .rows .row");
const firstPageBytes = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
await takeLongTasks();
const before = await costs();
await page.goto(`${url}/${place}`);
await page.waitForFunction((count) => document.querySelectorAll(".rail li").length >= count, Number(wanted), {
  polling: 200,
  timeout: 300_000,
});
await page.waitForTimeout(500);
const loaded = await costs();
const loading = { ...since(before, loaded), longTasks: await takeLongTasks() };
// As a reader does: the wheel, then jumps from prompt to prompt, then the end and the beginning.
await page.mouse.move(600, 500);
for (let step = 0; step < 100; step++) {
  await page.mouse.wheel(0, 700);
  await page.waitForTimeout(16);
}
for (let step = 0; step < 50; step++) await page.keyboard.press("j");
await page.keyboard.press("End");
await page.waitForTimeout(200);
await page.keyboard.press("Home");
await page.waitForTimeout(200);
const scrolled = await costs();
const scrolling = { ...since(loaded, scrolled), longTasks: await takeLongTasks() };
const blocks = await page.locator(".transcript .block").count();
console.log(
  JSON.stringify({ firstPageBytes, blocks, nodes: scrolled.nodes, heapMb: Math.round(scrolled.heap / 1e6), loading, scrolling }),
);
await browser.close();
