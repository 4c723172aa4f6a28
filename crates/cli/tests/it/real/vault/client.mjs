// Another client: the protocol's own SDK, loading a session and saying one thing in it.
//   node client.mjs SDK CWD SESSION PROMPT COMMAND ARGS…
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, cwd, sessionId, text, command, ...args] = process.argv.slice(2);
const { ClientSideConnection, ndJsonStream } = await import(pathToFileURL(sdk));
const agent = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const client = {
  requestPermission: async () => ({ outcome: { outcome: "cancelled" } }),
  sessionUpdate: async () => {},
};
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const connection = new ClientSideConnection(() => client, stream);
await connection.initialize({ protocolVersion: 1, clientCapabilities: {} });
await connection.loadSession({ sessionId, cwd, mcpServers: [] });
// It answers before it has said all of the history.
await new Promise((done) => setTimeout(done, 500));
const { stopReason } = await connection.prompt({ sessionId, prompt: [{ type: "text", text }] });
console.log(stopReason);
agent.stdin.end();
setTimeout(() => agent.kill(), 1500).unref();
await new Promise((done) => agent.on("exit", done));
