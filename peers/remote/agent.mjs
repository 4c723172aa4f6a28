// An ACP agent behind HTTP and WebSocket on loopback, for tests.
//
//   node agent.mjs PEERS                    the official SDK's server, with an agent that reads a file, runs `env` and asks
//   node agent.mjs PEERS stdio COMMAND…     a WebSocket before an agent that speaks over stdin and stdout
//
// It prints its port. With TOKEN it wants that as a bearer token, with TLS_KEY and TLS_CERT it speaks TLS, HTTP/2 and HTTP/1.1. With
// REQUESTS it writes the version and method of each request to that file. It ends with its stdin.
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [peers, mode, ...command] = process.argv.slice(2);
const { TOKEN, TLS_KEY, TLS_CERT, REQUESTS } = process.env;
const { WebSocketServer } = createRequire(`${peers}/package.json`)("ws");

/** Why a request is refused. The refusal repeats the credentials, as some servers do. */
function refusal(request) {
  const given = request.headers.authorization;
  if (new URL(request.url, "http://localhost").pathname !== "/acp") return [404, "Not Found"];
  if (TOKEN && given !== `Bearer ${TOKEN}`) return [401, `not allowed: ${given}`];
}

async function officialServer() {
  const sdk = `${peers}/node_modules/acp-sdk-2.4.0/dist`;
  const acp = await import(`${sdk}/v1/stable/acp.js`);
  const { AcpServer } = await import(`${sdk}/transports/server.js`);
  const node = await import(`${sdk}/transports/node-adapter.js`);
  const sessions = new Map();
  const { agent: ours, client: theirs } = acp.methods;
  const agent = acp
    .agent({ name: "remote-example" })
    .onRequest(ours.initialize, () => ({
      protocolVersion: acp.PROTOCOL_VERSION,
      agentInfo: { name: "remote-example", version: "1.0.0" },
      agentCapabilities: {},
    }))
    .onRequest(ours.session.new, ({ params }) => {
      const sessionId = crypto.randomUUID();
      sessions.set(sessionId, params);
      return { sessionId };
    })
    .onRequest(ours.session.prompt, ({ params, client }) => turn(client, theirs, params, sessions))
    .onNotification(ours.session.cancel, () => {});
  const server = new AcpServer({ agent });
  const sockets = new WebSocketServer({ noServer: true });
  return [
    node.createNodeHttpHandler(server),
    node.createNodeWebSocketUpgradeHandler(server, sockets),
  ];
}

async function turn(client, methods, { sessionId, prompt }, sessions) {
  const { cwd, mcpServers } = sessions.get(sessionId);
  const say = (text) =>
    client.notify(methods.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  if (prompt[0].text === "vanish") {
    await say("Going.");
    setTimeout(() => process.exit(0), 50);
    return new Promise(() => {});
  }
  // "count" is answered with data only when it is asked for again, "chat" never.
  const text = prompt.map((block) => block.text).join("\n");
  if (/^(count|chat)\b|does not fit/.test(text)) {
    sessions.get(sessionId).chats ??= text.startsWith("chat");
    const isData = text.includes("does not fit") && !sessions.get(sessionId).chats;
    await say(isData ? JSON.stringify({ n: 2, servers: mcpServers.length }) : "There are two.");
    return { stopReason: "end_turn" };
  }
  const { content } = await client.request(methods.fs.readTextFile, { sessionId, path: `${cwd}/note.txt` });
  await say(`note: ${content.trim()}; `);
  const outside = client.request(methods.fs.readTextFile, { sessionId, path: "/etc/passwd" });
  await say(await outside.then(() => "read outside; ", () => "refused outside; "));
  const { outcome } = await client.request(methods.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId: "c1", title: "env", kind: "execute", rawInput: { command: "env" } },
    options: [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ],
  });
  await say(`permission: ${outcome.optionId}`);
  if (outcome.optionId === "yes") {
    const { terminalId } = await client.request(methods.terminal.create, { sessionId, command: "env", cwd });
    const lines = commandLines();
    const exposed = lines.filter((line) => TOKEN && line.includes(TOKEN));
    await say(`; processes: ${lines.length > 2 ? "seen" : "none"}, ${exposed.length} show the token`);
    await client.request(methods.terminal.waitForExit, { sessionId, terminalId });
    const { output } = await client.request(methods.terminal.output, { sessionId, terminalId });
    await say(`; variables: ${output}`);
  }
  return { stopReason: "end_turn" };
}

/** The arguments of each process on this machine: the client, its supervisors and its commands are among them. */
function commandLines() {
  return readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).map((pid) => {
    try { return readFileSync(`/proc/${pid}/cmdline`, "utf8"); } catch { return ""; }
  });
}

function bridge() {
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on("connection", (socket) => {
    const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => socket.send(line));
    socket.on("message", (message) => child.stdin.write(`${message}\n`));
    socket.on("close", () => child.stdin.end());
    child.on("exit", () => socket.close(1000));
  });
  const http = (_, response) => response.writeHead(426).end();
  return [http, (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (accepted) => sockets.emit("connection", accepted))];
}

const [onRequest, onUpgrade] = mode === "stdio" ? bridge() : await officialServer();
const answer = (request, response) => {
  if (REQUESTS) appendFileSync(REQUESTS, `${request.httpVersion} ${request.method}\n`);
  // The SDK's adapter does not know the pseudo-headers of HTTP/2 (2.4.0).
  const headers = Object.entries(request.headers).filter(([name]) => !name.startsWith(":"));
  Object.defineProperty(request, "headers", { value: Object.fromEntries(headers) });
  const [status, text] = refusal(request) ?? [];
  status ? response.writeHead(status).end(text) : onRequest(request, response);
};
const tls = TLS_KEY && { key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) };
const server = tls ? createSecureServer({ ...tls, allowHTTP1: true }, answer) : createServer(answer);
server.on("upgrade", (request, socket, head) => {
  const [status, text] = refusal(request) ?? [];
  if (!status) return onUpgrade(request, socket, head);
  socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
