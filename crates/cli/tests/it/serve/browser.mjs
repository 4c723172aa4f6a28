// Opens the page of a server in Chromium and uses it as people do. Arguments: URL, token, the id of a hostile session.
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const require = createRequire(`${process.cwd()}/`);
const { chromium } = require("playwright-core");
const packaged = await import(require.resolve("@sparticuz/chromium"));
const shell = packaged.default.default ?? packaged.default;
const [url, token, hostile] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: await shell.executablePath(),
  args: [...shell.args, "--disable-background-networking", "--no-first-run"],
  headless: true,
});
const problems = [];
try {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    window.alert = () => { window.attacked = true; };
  });
  const open = async (address) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
    page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`request: ${request.url()}`); });
    await page.goto(address);
    return page;
  };

  // The token comes in the fragment and leaves the address.
  const page = await open(`${url}/#token=${token}`);
  await page.waitForSelector("table.list");
  assert.equal(new URL(page.url()).hash, "#/runs");

  // A run is started by keyboard alone.
  await page.focus("#new-prompt");
  await page.keyboard.type("Make the greeting say the name");
  await page.selectOption("#new-agent", "demo");
  await page.focus("#new-prompt");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".ask");
  await page.waitForFunction(() => document.title.startsWith("(1)"));
  assert.match(await page.textContent(".ask"), /Edit greet\.sh/);

  // A reload in mid-run shows the same, and so does another tab.
  await page.reload();
  await page.waitForSelector(".block .prompt");
  await page.waitForSelector(".ask");
  const other = await open(page.url());
  await other.waitForSelector(".ask");

  // Both tabs answer at once: one decision counts, and the other tab says so.
  await Promise.all([page.click(".ask button.primary"), other.click(".ask button.danger")]);
  await page.waitForSelector(".block.end", { timeout: 60_000 });
  await other.waitForSelector(".block.end", { timeout: 60_000 });
  await page.waitForFunction(() => document.title === "Lapidary");
  const texts = await Promise.all([page, other].map((it) => it.textContent(".transcript")));
  assert.equal(texts[0], texts[1]);
  const decisions = texts[0].match(/(allowed|denied) by the connected program/g) ?? [];
  assert.equal(new Set(decisions).size, 1, texts[0]);
  // The answer that came second is a 409, which the browser reports as a failed request.
  const late = problems.filter((it) => /409/.test(it));
  assert.ok(late.length <= 1, problems.join("\n"));
  problems.splice(0, problems.length, ...problems.filter((it) => !/409/.test(it)));
  await other.close();

  // A hostile session is found, read, and stays text.
  await page.click("text=Sessions");
  await page.fill("input[type=search]", "lighthouse");
  await page.waitForSelector(`a[href="#/sessions/${hostile}"]`);
  await page.click(`a[href="#/sessions/${hostile}"]`);
  await page.waitForFunction(() => document.querySelectorAll(".transcript .prompt").length > 40);
  for (const link of await page.$$(".transcript a[href]")) assert.match(await link.getAttribute("href"), /^(https?:|mailto:|#)/);
  assert.equal(await page.$(".transcript script, .transcript img, .transcript iframe"), null);
  await page.hover(".transcript .prompt >> nth=1");
  assert.equal(await page.evaluate(() => window.attacked), undefined);

  // Both themes, and a narrow screen without a horizontal scroll bar.
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await background(), light);
  await page.setViewportSize({ width: 360, height: 700 });
  for (const tab of ["Runs", "Inbox", "Sessions", "Stats", "Doctor"]) {
    await page.click(`.tabs >> text=${tab}`);
    await page.waitForSelector("main h1");
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${tab} is ${overflow} pixels too wide`);
  }
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
console.log("the page works");
