// Reads agent files from stdin with the loader of an installed Gemini CLI, and prints what it makes of each.
// The loader is an export of one chunk of its bundle.
import fs from 'node:fs';
import path from 'node:path';

// Read before the import, which makes stdin a stream that is not waited for.
const texts = JSON.parse(fs.readFileSync(0, 'utf8'));
const folder = process.argv[2];
const chunks = fs.readdirSync(folder).filter((name) => name.endsWith('.js')).sort();
const exporter = chunks.find((name) => {
  const text = fs.readFileSync(path.join(folder, name), 'utf8');
  return /^  parseAgentMarkdown,$/m.test(text) && /^  markdownToAgentDefinition,$/m.test(text);
});
const { parseAgentMarkdown, markdownToAgentDefinition } = await import(path.join(folder, exporter));

const answers = [];
for (const text of texts) {
  try {
    const agents = await parseAgentMarkdown('x.md', text);
    answers.push({ agents: agents.map((agent) => markdownToAgentDefinition(agent)) });
  } catch (error) {
    answers.push({ error: error.message });
  }
}
process.stdout.write(JSON.stringify(answers));
