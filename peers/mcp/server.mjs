// An MCP server on the official SDK: streamable HTTP below /mcp, and the transport of 2024 below /sse and /messages.
//
// node server.mjs PEERS: prints its port. Tools: `echo` repeats `say` with the header `x-team` of its request, `fail` fails.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const load = (file) => import(pathToFileURL(join(process.argv[2], 'node_modules/@modelcontextprotocol/sdk/dist/esm', file)));
const { Server } = await load('server/index.js');
const { StreamableHTTPServerTransport } = await load('server/streamableHttp.js');
const { SSEServerTransport } = await load('server/sse.js');
const { CallToolRequestSchema, ListToolsRequestSchema } = await load('types.js');

const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' } });
let deleted = 0;

async function connected(transport) {
  const server = new Server({ name: 'toys', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool('echo'), tool('fail'), tool('hidden')] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    if (params.name === 'fail') return { content: [{ type: 'text', text: 'no such thing' }], isError: true };
    const team = extra.requestInfo?.headers['x-team'];
    return { content: [{ type: 'text', text: `${params.arguments.say} ${team} ${deleted}` }] };
  });
  await server.connect(transport);
  return transport;
}

const sessions = new Map();
const streams = new Map();

async function streamable(request, response) {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport && request.method === 'POST' && !id) {
    const onsessioninitialized = (id) => sessions.set(id, transport);
    const onsessionclosed = () => { deleted += 1; };
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized, onsessionclosed });
    await connected(transport);
  }
  if (!transport) return response.writeHead(404).end();
  await transport.handleRequest(request, response);
}

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/mcp') return streamable(request, response);
  if (url.pathname === '/sse' && request.method === 'GET') {
    const transport = new SSEServerTransport('/messages', response);
    streams.set(transport.sessionId, transport);
    return connected(transport);
  }
  if (url.pathname === '/messages') return streams.get(url.searchParams.get('sessionId'))?.handlePostMessage(request, response);
  response.writeHead(405).end();
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
