// Chromium as the tests, the bench and the screenshots start it. The current directory is that of the installed packages.
import { createRequire } from "node:module";

export const require = createRequire(`${process.cwd()}/`);

/** The package is made for a machine in the cloud: one process, and checks that are off. We want a browser as people have it. */
const UNWANTED = ["--single-process", "--no-zygote", "--disable-web-security", "--allow-running-insecure-content"];

export async function startChromium() {
  const { chromium } = require("playwright-core");
  const packaged = await import(require.resolve("@sparticuz/chromium"));
  const shell = packaged.default.default ?? packaged.default;
  const args = shell.args.filter((it) => !UNWANTED.includes(it));
  return chromium.launch({
    executablePath: await shell.executablePath(),
    args: [...args, "--disable-background-networking", "--no-first-run"],
    headless: true,
  });
}
