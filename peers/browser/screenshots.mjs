// Pictures of the page for the documents. Arguments: URL, token, the directory to write to. Prints the files.
import { startChromium } from "./chromium.mjs";

const [url, token, directory] = process.argv.slice(2);
const browser = await startChromium();

async function open(options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  await page.goto(`${url}/#token=${token}`);
  await page.waitForSelector(".row");
  return page;
}

async function shoot(page, name) {
  const path = `${directory}/${name}.png`;
  await page.evaluate(() => document.activeElement?.blur());
  await page.screenshot({ path, animations: "disabled" });
  console.log(path);
}

const page = await open({ colorScheme: "light" });
await page.fill("#new-prompt", "Make the greeting polite");
await page.selectOption("#new-agent", "demo");
await page.click(".start button[type=submit]");
await page.waitForSelector("#tray .ask");
await page.waitForSelector(".tool.going-on");
await shoot(page, "page-run");
await page.goto(`${url}/#/runs`);
await page.waitForSelector(".row >> nth=2");
await shoot(page, "page-runs");
await page.goto(`${url}/#/stats`);
await page.waitForSelector(".chart");
await page.click("#tray header button");
await shoot(page, "page-stats");

const dark = await open({ colorScheme: "dark" });
await dark.click("#tray header button");
await dark.goto(`${url}/#/sessions?q=retries`);
await dark.waitForSelector("mark");
await shoot(dark, "page-search");

const phone = await open({ colorScheme: "dark", viewport: { width: 390, height: 760 }, deviceScaleFactor: 2 });
await phone.goto(`${url}/#/inbox`);
await phone.waitForSelector(".inbox .ask");
await shoot(phone, "page-phone");
await browser.close();
