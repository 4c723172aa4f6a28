// Asks the acknowledgement service of an installed Gemini CLI about one agent with its hash and with another one, and lets it
// acknowledge a second agent. The service is cut out of the bundle by the comment that names its source file.
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import path from 'node:path';

const [folder, file, project, known, hash, added, addedHash] = process.argv.slice(2);
const comment = '// packages/core/src/agents/acknowledgedAgents.ts\n';
const texts = fs.readdirSync(folder).sort().filter((name) => name.endsWith('.js'));
const text = texts.map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).find((one) => one.includes(comment));
const start = text.indexOf(comment);
const source = text.slice(start, text.indexOf('\n// packages/', start + 1));
const imports = [...source.matchAll(/^import \* as (\w+) from "([^"]+)";$/gm)];
const modules = { 'node:fs/promises': fsPromises, 'fs/promises': fsPromises, 'node:path': path, path };
const body = source.replace(/^import .*$/gm, '');
const names = imports.map(([, name]) => name);
const load = new Function(...names, 'Storage', 'debugLogger', 'getErrorMessage', 'isNodeError',
  `${body}\nreturn AcknowledgedAgentsService;`);
const Service = load(...imports.map(([, , module]) => modules[module]),
  { getAcknowledgedAgentsPath: () => file }, { error: console.error }, String, (error) => 'code' in error);
const service = new Service();
const right = await service.isAcknowledged(project, known, hash);
const wrong = await service.isAcknowledged(project, known, 'another');
await service.acknowledge(project, added, addedHash);
process.stdout.write(`${right} ${wrong}`);
