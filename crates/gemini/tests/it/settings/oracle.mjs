// Asks the real Gemini CLI what it makes of settings: many cases in one start. Stdin: the folder of its bundle, a list of
// cases, and the file for the answers.
import fs from 'node:fs';
import path from 'node:path';

const { bundle, cases, out } = JSON.parse(fs.readFileSync(0, 'utf8'));
const chunk = fs
  .readdirSync(bundle)
  .filter((name) => /^chunk-.*\.js$/.test(name))
  .find((name) => /^export \{[^}]*\bgetSettingsSchema\b[^}]*\bloadSettings\b/m.test(fs.readFileSync(path.join(bundle, name), 'utf8')));
const cli = await import(path.join(bundle, chunk));

const write = (file, text) => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
};

const answers = cases.map(({ files, vars, workspace, set, brief }) => {
  const before = { ...process.env };
  Object.assign(process.env, vars);
  for (const [file, text] of Object.entries(files)) write(file, text);
  fs.mkdirSync(workspace, { recursive: true });
  try {
    const loaded = cli.loadSettings(workspace);
    if (set) {
      loaded.setValue('User', set.key, set.value);
      return { written: fs.readFileSync(loaded.user.path, 'utf8') };
    }
    // Not everything that can be read can be told as JSON.
    if (brief) return { started: true, isEndless: loaded.merged.x === Infinity };
    // The models of a version are nobody's settings.
    const { modelConfigs, ...merged } = loaded.merged;
    return { env: { ...process.env }, merged, isTrusted: loaded.isTrusted, warned: loaded.errors.map((error) => error.path) };
  } catch (error) {
    return { fatal: String(error.message) };
  } finally {
    for (const file of Object.keys(files)) fs.rmSync(file);
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
});
fs.writeFileSync(out, JSON.stringify(answers));
process.exit(0);
