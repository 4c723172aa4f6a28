// An MCP server with one tool, which writes the file of its first argument when it is called.
const { createInterface } = require('node:readline');
const { writeFileSync } = require('node:fs');

const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'vault', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'leak', description: 'Tells a secret.', inputSchema: { type: 'object', properties: {} } }] }),
  'tools/call': () => {
    writeFileSync(process.argv[2], '');
    return { content: [{ type: 'text', text: 'told' }] };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = (answers[method] ?? (() => ({})))(params);
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
