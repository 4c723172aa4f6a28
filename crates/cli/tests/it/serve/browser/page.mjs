// Opens the page of a server in Chromium and uses it as people do. The scenes share one browser. Arguments: URL, token, the ids of two
// hostile sessions. It asks for a restart of the server with the line `restart`, for tickets and a worker with the line `fleet`, and
// goes on when a line comes back.
import assert from "node:assert/strict";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const { startChromium, require } = await import(pathToFileURL(process.env.CHROMIUM));
const [url, token, hostile, hostileTitle] = process.argv.slice(2);
const axe = require.resolve("axe-core/axe.min.js");
const replies = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const browser = await startChromium();
const problems = [];
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.addInitScript(() => {
  addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  window.alert = () => {
    window.attacked = true;
  };
});

async function open(address) {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return page;
}

/** Takes the problems that a scene expects, and fails if there are others. */
function expectProblems(pattern, most) {
  const [expected, others] = [problems.filter((it) => pattern.test(it)), problems.filter((it) => !pattern.test(it))];
  problems.length = 0;
  assert.deepEqual(others, []);
  assert.ok(expected.length <= most, expected.join("\n"));
}

/** The rules of WCAG 2 A and AA, with contrasts. */
async function checkAccess(page, name) {
  await page.evaluate(() => {
    for (const it of document.querySelectorAll(".chart-scroll")) it.scrollLeft = 0;
  });
  const results = await page.evaluate(() =>
    window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] }),
  );
  const found = results.violations.map(
    (it) =>
      `${it.id}: ${it.nodes
        .slice(0, 3)
        .map((node) => `${node.target} ${node.any[0]?.message ?? ""}`)
        .join("; ")}`,
  );
  assert.deepEqual(found, [], name);
}

const scenes = {
  async "the token leaves the address, and the first page is small"(state) {
    const bodies = [];
    context.on("response", (response) => {
      if (!response.url().includes("/api/")) bodies.push(response.body());
    });
    const page = await open(`${url}/#token=${token}`);
    await page.waitForSelector(".rows .empty");
    assert.equal(new URL(page.url()).hash, "#/runs");
    context.removeAllListeners("response");
    const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
    assert.ok(bytes > 50_000 && bytes <= 100_000, `${bytes} bytes`);
    state.page = page;
  },

  async "the link that skips the header leads to the content of the same page"({ page }) {
    await page.focus(".skip");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "view");
    assert.equal(new URL(page.url()).hash, "#/runs");
  },

  async "a run is started and answered by keyboard alone"({ page }) {
    await page.waitForSelector("#new-agent option[value=talker]", { state: "attached" });
    await page.keyboard.press("n");
    await page.keyboard.type("Make the greeting say the name");
    await page.keyboard.press("Tab");
    await page.keyboard.type("demo");
    assert.equal(await page.inputValue("#new-agent"), "demo");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".answer");
    await page.waitForSelector("#tray .ask");
    await page.waitForFunction(() => document.title.startsWith("(1) Make the greeting"));
    await page.waitForSelector(".run-bar .badge.warn >> text=asks");
    assert.match(await page.textContent(".ask"), /Edit greet\.sh/);
    assert.match(await page.textContent("#said"), /^Permission request: Edit greet\.sh/, "screen readers are told");
    assert.equal(await page.textContent(".tool.going-on .name"), "replace");
    await page.keyboard.press("i");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "ask");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("a");
    await page.waitForSelector(".block.end");
    await page.waitForFunction(() => document.title.startsWith("Make the greeting"));
    assert.match(await page.textContent(".transcript"), /allowed by the connected program/);
    await page.waitForSelector(".run-bar .badge.good");
    await page.waitForFunction(() => document.getElementById("said")?.textContent === "The run has ended: completed.");
  },

  async "a reload and another tab show the same, and one of two answers counts"({ page }) {
    await start(page, "demo", "Make it polite");
    await page.waitForSelector("#tray .ask");
    await page.reload();
    await page.waitForSelector(".block .prompt");
    await page.waitForSelector("#tray .ask");
    const other = await open(`${url}/#/inbox`);
    await other.waitForSelector(".inbox .ask");
    // Without the waiting of `click`: the first answer takes the buttons of both tabs away.
    const press = (tab, button) => tab.evaluate((it) => document.querySelector(it).click(), `.ask ${button}`);
    await Promise.all([press(page, "button.primary"), press(other, "button.danger")]);
    await page.waitForSelector(".block.end");
    await other.goto(page.url());
    await other.waitForSelector(".block.end");
    await other.waitForFunction(() => !document.title.startsWith("("));
    const texts = await Promise.all([page, other].map((it) => it.textContent(".transcript")));
    assert.equal(texts[0], texts[1]);
    const decisions = texts[0].match(/(allowed|denied) by the connected program/g) ?? [];
    assert.equal(new Set(decisions).size, 1, texts[0]);
    await other.close();
    expectProblems(/409/, 1); // the answer that came second
  },

  async "a run is stopped"({ page }) {
    await start(page, "demo", "Stop me");
    await page.waitForSelector("#tray .ask");
    const { hash } = new URL(page.url());
    await page.goto(`${url}/#/runs`);
    await page.waitForSelector(`.row:has(a[href="${hash}"]) .badge >> text=asks`);
    await page.goto(`${url}/${hash}`);
    await page.click(".run-bar .danger");
    await page.waitForSelector(".block.end");
    await page.waitForSelector(".run-bar .badge.warn");
    await page.waitForSelector("#tray", { state: "hidden" });
  },

  async "a conversation has a form, more prompts and an end"({ page }) {
    await page.goto(`${url}/#/runs`);
    await page.check("#new-conversation");
    await start(page, "talker", "form <img/src=x/onerror=alert(1)>");
    await page.waitForSelector("form.ask input[type=text]");
    assert.match(await page.textContent("form.ask"), /What is the <img\/src=x\/onerror=alert\(1\)>\?/);
    await page.fill("form.ask input[type=text]", "blue");
    await page.click("form.ask button.primary");
    await page.waitForSelector(".transcript >> text=accept:");
    await page.waitForSelector(".working.idle");
    await page.fill(".composer textarea", "say <b>second</b>");
    await page.focus(".composer textarea");
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() => document.querySelectorAll(".transcript .prompt").length === 2);
    await page.waitForSelector(".working.idle");
    await page.waitForSelector(".rail li >> nth=1");
    await page.click(".run-bar >> text=Finish");
    await page.waitForSelector(".block.end");
    await page.waitForSelector(".run-bar .badge.good");
  },

  async "a form has a field for each kind of value, and its texts stay texts"({ page }) {
    const attack = "<img src=x onerror=alert(1)>";
    const schema = {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string", title: attack, description: attack, minLength: 2 },
        count: { type: "integer", minimum: 1, maximum: 9 },
        share: { type: "number", default: 0.5 },
        sure: { type: "boolean", default: true },
        colour: { type: "string", enum: ["r", attack], enumNames: ["red", attack] },
        day: { type: "string", format: "date" },
        parts: {
          type: "array",
          items: {
            anyOf: [
              { const: "a", title: attack },
              { const: "b", title: "B" },
            ],
          },
        },
      },
    };
    const sent = [];
    await page.route("**/api/v1/runs/none/commands", (route) => {
      sent.push(route.request().postDataJSON());
      route.fulfill({ json: { isError: sent.length === 1, message: attack } });
    });
    const shown = { json: { run: { id: "none", state: "running", agent: "claude" }, prompt: attack } };
    await page.route("**/api/v1/runs/none", (route) => route.fulfill(shown));
    await page.evaluate(
      async ([requestedSchema, message]) => {
        const { elicitationCard } = await import("/elicitation.js");
        const request = {
          event: "elicitation_request",
          requestId: "7",
          provider: "claude",
          mode: "form",
          message,
          requestedSchema,
        };
        const page = { ...request, requestId: "8", mode: "url", requestedSchema: undefined, url: "javascript:alert(1)" };
        document
          .querySelector("main")
          .append(...[request, page].map((it) => elicitationCard({ runId: "none", request: it }, async () => {})));
      },
      [schema, attack],
    );
    const form = page.locator("main form.ask").first();
    await form.getByLabel(attack).first().fill("blue");
    await form.getByLabel("count").fill("4");
    await form.getByLabel("day").fill("2026-11-18");
    await form.locator("select").selectOption({ index: 2 });
    await form.getByLabel("B", { exact: true }).check();
    await form.locator("button.primary").click();
    await form.locator(".notice").waitFor(); // the first answer is refused, and can be given again
    const [again] = await Promise.all([page.waitForResponse("**/none/commands"), form.locator("button.primary").click()]);
    assert.equal(again.status(), 200);
    assert.deepEqual(sent[1], {
      command: "elicitation_response",
      requestId: "7",
      action: "accept",
      content: { name: "blue", count: 4, share: 0.5, sure: true, colour: attack, day: "2026-11-18", parts: ["b"] },
    });
    assert.equal(await page.locator("main form.ask a[href^=javascript]").count(), 0);
    assert.equal(await page.locator("main form.ask img").count(), 0);
    assert.equal(await form.locator("h3 a").textContent(), attack);
    await page.unroute("**/api/v1/runs/none/commands");
    await page.unroute("**/api/v1/runs/none");
  },

  async "the longest bar of a chart fills its track, also that of a few cents"({ page }) {
    const width = await page.evaluate(async () => {
      const { barChart } = await import("/charts.js");
      const chart = barChart("Cost", [{ name: "m", value: 0.05, text: "$0.05" }]);
      return chart.querySelector("rect.of-accent").getAttribute("width");
    });
    assert.equal(width, "100");
  },

  async "neighbouring calls are one group also where the chunks of a transcript meet"({ page }) {
    const groups = await page.evaluate(async () => {
      const { Transcript } = await import("/transcript.js");
      const view = new AbortController();
      const transcript = new Transcript(view.signal, { follows: false });
      document.querySelector("main").append(transcript.place);
      const call = '<details class="tool done"><summary>call</summary></details>';
      for (let at = 0; at < 12; at++) transcript.set(at, at === 8 ? "<p>text</p>" : call);
      transcript.draw();
      const blocks = [...transcript.place.querySelectorAll(".block")];
      view.abort();
      transcript.place.remove();
      return blocks.map((it) => ["after-call", "before-call"].map((name) => Number(it.classList.contains(name))).join(""));
    });
    assert.deepEqual(groups.slice(7), ["10", "00", "01", "11", "10"]);
  },

  async "a malformed form hides no other request"({ page }) {
    const base = { provider: "claude", message: "?", mode: "form" };
    const malformed = [{ properties: { a: null } }, { properties: { a: { oneOf: 7 } } }, { properties: { a: {} }, required: 7 }, 7];
    const elicitations = malformed.map((requestedSchema, at) => ({
      runId: "none",
      request: { ...base, event: "elicitation_request", requestId: `f${at}`, requestedSchema },
    }));
    const request = { event: "permission_request", requestId: "p", provider: "claude", toolName: "rm" };
    const waiting = { elicitations, permissions: [{ runId: "none", request, html: "" }] };
    await page.route("**/api/v1/runs/none", (route) => route.fulfill({ json: { run: { id: "none" } } }));
    await page.route("**/api/v1/permissions", (route) => route.fulfill({ json: waiting }));
    await page.waitForSelector("#tray section.ask");
    assert.equal(await page.locator("#tray form.ask").count(), malformed.length);
    assert.equal(await page.locator("#tray form.ask .notice").count(), malformed.length - 1);
    await page.waitForFunction(() => document.title.startsWith("(5)"));
    await page.unroute("**/api/v1/runs/none");
    await page.unroute("**/api/v1/permissions");
    await page.waitForSelector("#tray", { state: "hidden" });
  },

  async "the page says that the server is away, and goes on when it is back"({ page }) {
    await start(page, "demo", "Survive this");
    await page.waitForSelector("#tray .ask");
    console.log("restart");
    await replies.next(); // the server is down
    await page.waitForSelector("#link:not([hidden])");
    console.log("start");
    await replies.next();
    await page.waitForSelector("#link", { state: "hidden" });
    await page.waitForSelector(".block.end");
    await page.waitForSelector(".run-bar .badge.warn");
    assert.equal(await page.locator(".block.end").count(), 1);
    expectProblems(/ERR_CONNECTION|ERR_INCOMPLETE|Failed to load/, Infinity);
  },

  async "a session is found as one types, and hostile text stays text"({ page }) {
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.waitForSelector(`.rows a[href="#/sessions/${hostileTitle}"]`);
    await page.fill("input[type=search]", "lighthouse");
    await page.waitForSelector(`a[href^="#/sessions/${hostile}"]`);
    await page.waitForSelector("mark");
    await page.click(`a[href^="#/sessions/${hostile}"]`);
    await page.waitForFunction(() => document.querySelectorAll(".transcript .prompt").length > 40);
    await page.waitForFunction(() => CSS.highlights.get("found")?.size > 0);
    for (const link of await page.$$(".transcript a[href]"))
      assert.match(await link.getAttribute("href"), /^(https?:|mailto:|#)/);
    assert.equal(await page.$("main script, main img, main iframe, main b"), null);
    // A reader who comes back is at the row that led away from the list.
    await page.goBack();
    await page.waitForFunction((id) => document.activeElement?.getAttribute("href")?.startsWith(`#/sessions/${id}`), hostile);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".transcript .prompt").length > 40);
    await page.waitForSelector(".run-bar .jumps button");
    await page.hover(".transcript .prompt >> nth=1");
    for (const prompt of ["2", "3"]) {
      // the search has led to the first
      await page.keyboard.press("j");
      await page.waitForFunction((number) => document.activeElement?.id === `prompt-${number}`, prompt);
    }
    await page.waitForFunction(() => scrollY > 0 && document.querySelector(".rail .here"));
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.activeElement?.id === "prompt-2");
    await page.goto(`${url}/#/sessions/${hostileTitle}`);
    await page.waitForFunction(() => document.querySelector("h1")?.textContent?.startsWith("<img"));
    assert.equal(await page.evaluate(() => window.attacked), undefined);
  },

  async "a fleet's queue is shown, and a ticket's question is answered like a run's"(state) {
    const { page } = state;
    await page.keyboard.press("g");
    await page.keyboard.press("f");
    await page.waitForSelector(".empty.large >> text=There is no store");
    assert.deepEqual(problems, []); // a store that is not there yet is no error
    console.log("fleet");
    const [asking, queued] = JSON.parse((await replies.next()).value);
    await page.waitForSelector(`section[aria-label="Waiting"] a[href="#/fleet/${queued}"]`);
    await page.waitForSelector(`section[aria-label="Running now"] .badge.warn >> text=asks`);
    expectProblems(/404/, Infinity);
    assert.match(await page.textContent(".tiles"), /Waiting1.*Running1of 1 slot/);
    assert.match(await page.textContent(".lanes"), /machine-room.*0 of 2 running, 1 waiting/);
    assert.match(await page.textContent(".fleet table"), /builder/);
    assert.equal(await page.textContent(`a[href="#/fleet/${queued}"]`), "<img src=x onerror=alert(1)> wait");
    await page.goto(`${url}/#/inbox`);
    await page.waitForSelector(".inbox .ask >> text=greet.sh");
    assert.equal(await page.locator(".ask button").count(), 2, "an answer to a ticket holds for one request");
    await page.click(".ask h3 a >> text=Greet the fleet");
    await page.waitForSelector(".transcript .tool");
    await page.waitForSelector(".working.asks");
    await page.waitForSelector("#tray .ask");
    await page.keyboard.press("i");
    await page.keyboard.press("a");
    await page.waitForSelector(".run-bar .badge.good");
    await page.waitForSelector("#tray", { state: "hidden" });
    assert.equal(new URL(page.url()).hash, `#/fleet/${asking}`);
    assert.match(await page.textContent(".facts"), /Attempts1 of/);
    state.tickets = { [`#/fleet/${asking}`]: ".facts dd", "#/fleet": ".row" };
    assert.equal(await page.evaluate(() => window.attacked), undefined);
  },

  async "a ticket that waits is cancelled on its page"({ page, tickets }) {
    await page.goto(`${url}/#/fleet`);
    await page.click("section[aria-label=Waiting] a.row-link");
    await page.click(".run-bar >> text=Cancel");
    await page.waitForSelector(".run-bar .badge.warn >> text=cancelled");
    assert.ok(tickets);
  },

  async "each page is accessible in both themes and fits a narrow screen"({ page, tickets }) {
    await page.addInitScript({ path: axe });
    await start(page, "demo", "Wait for me");
    await page.waitForSelector("#tray .ask");
    const run = new URL(page.url()).hash;
    const pages = {
      [run]: ".tool",
      "#/runs": ".row",
      "#/inbox": ".inbox .ask",
      "#/sessions": ".row",
      [`#/sessions/${hostile}`]: ".facts dd",
      "#/stats": ".panel",
      "#/doctor": ".check-row",
      ...tickets,
    };
    const backgrounds = new Set();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.reload();
      for (const [place, sign] of Object.entries(pages)) {
        await page.goto(`${url}/${place}`);
        await page.waitForSelector(sign);
        backgrounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
        await checkAccess(page, `${place} ${colorScheme}`);
      }
    }
    assert.equal(backgrounds.size, 2);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog.help[open]");
    await checkAccess(page, "help");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog.help", { state: "detached" });
    await page.setViewportSize({ width: 360, height: 700 });
    for (const [place, sign] of Object.entries(pages)) {
      await page.goto(`${url}/${place}`);
      await page.waitForSelector(sign);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${place} is ${overflow} pixels too wide`);
    }
  },
};

async function start(page, agent, prompt) {
  if (new URL(page.url()).hash !== "#/runs") await page.goto(`${url}/#/runs`);
  await page.waitForSelector("#new-agent option[value=talker]", { state: "attached" });
  await page.fill("#new-prompt", prompt);
  await page.selectOption("#new-agent", agent);
  await page.click(".start button[type=submit]");
  await page.waitForSelector(".run-bar");
}

try {
  const state = {};
  for (const [name, scene] of Object.entries(scenes)) {
    try {
      await scene(state);
      assert.deepEqual(problems, []);
    } catch (error) {
      const shown = await state.page?.evaluate(() => document.body.innerText.slice(0, 1500)).catch(() => "");
      throw new Error(`${name}\n${shown}\n${problems.join("\n")}`, { cause: error });
    }
  }
} finally {
  await browser.close();
}
console.log("the page works");
process.exit(0);
