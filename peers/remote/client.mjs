// A client of the official ACP SDK, for tests. It allows what the agent asks for, once.
//
//   node client.mjs PEERS URL|COMMAND DIRECTORY PROMPT
//
// The agent is at a WebSocket, or is started by a command, which is a list in JSON. With TOKEN it sends that as a bearer token. It prints one JSON: `stopReason`, `text`, `permissions`, `updates`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";

const [peers, target, cwd, prompt] = process.argv.slice(2);
const sdk = `${peers}/node_modules/acp-sdk-2.4.0/dist`;
const acp = await import(`${sdk}/v1/stable/acp.js`);

/** The way to an agent that is elsewhere. */
async function connect(url) {
  const { WebSocket } = createRequire(`${peers}/package.json`)("ws");
  const { createWebSocketStream } = await import(`${sdk}/transports/ws-stream.js`);
  const headers = process.env.TOKEN ? { authorization: `Bearer ${process.env.TOKEN}` } : {};
  return { stream: createWebSocketStream(url, { WebSocket, headers }) };
}

/** The way to an agent that is started here. */
function start([program, ...args]) {
  const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  return { stream, child };
}

const { stream, child } = target.startsWith("ws") ? await connect(target) : start(JSON.parse(target));
const told = { text: "", permissions: 0, updates: [] };
const { agent: theirs, client: ours } = acp.methods;
const app = acp
  .client({ name: "test-client" })
  .onRequest(ours.session.requestPermission, ({ params }) => {
    told.permissions += 1;
    const option = params.options.find(({ kind }) => kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(ours.session.update, ({ params: { update } }) => {
    told.updates.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") told.text += update.content.text;
  });

await app.connectWith(stream, async (agent) => {
  const hello = await agent.request(theirs.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  told.protocolVersion = hello.protocolVersion;
  const { sessionId } = await agent.request(theirs.session.new, { cwd, mcpServers: [] });
  const answer = await agent.request(theirs.session.prompt, { sessionId, prompt: [{ type: "text", text: prompt }] });
  told.stopReason = answer.stopReason;
});
if (child) {
  child.stdin.destroy();
  [told.exitCode] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
}
console.log(JSON.stringify(told));
process.exit(0);
