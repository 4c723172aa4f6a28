// A chat front end: a page in the browser, an agent behind it, and buttons for what the agent may do.
//
//     npm install lapidary typescript @types/node && npx tsc --module nodenext --target es2022 --types node examples/chat.ts
//     node examples/chat.js claude
//
// The page gets events as JSON and shows them as text only: nothing that an agent writes becomes markup.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type PermissionAnswer } from "lapidary";

const key = randomBytes(16).toString("hex"); // part of every path: other programs of this machine do not know it
const pages = new Set<ServerResponse>();
const open = new Map<string, (answer: PermissionAnswer) => void>();

const agent = connect({
  agent: process.argv[2] ?? "demo",
  onPermission: (request, signal) =>
    new Promise((resolve) => {
      open.set(request.requestId, resolve);
      show({ ask: request.requestId, text: request.title ?? request.toolName, diff: request.content ?? request.command });
      signal.addEventListener("abort", () => show({ answered: request.requestId }));
    }),
});

/** Sends something to every page, as a server-sent event. */
function show(message: object): void {
  for (const page of pages) page.write(`data: ${JSON.stringify(message)}\n\n`);
}

async function answer(text: string): Promise<void> {
  show({ user: text });
  try {
    for await (const event of agent.prompt(text)) {
      if (event.event === "stream_delta" && event.kind === "text") show({ delta: event.textDelta ?? "" });
      else if (event.event === "tool_invocation") show({ tool: event.title ?? event.toolName });
      else if (event.event === "permission_decision") show({ answered: event.requestId, tool: `${event.toolName}: ${event.decision}` });
    }
    show({ done: true });
  } catch (error) {
    show({ error: String(error) });
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) {
    body += piece as string;
    if (body.length > 1 << 20) throw new Error("the message is too long");
  }
  return body;
}

const server = createServer((request, response) => void serve(request, response).catch((error) => response.writeHead(400).end(String(error))));

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split("/") ?? [];
  if (path[1] !== key) return void response.writeHead(404).end();
  if (path[2] === "events") {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    pages.add(response);
    response.on("close", () => pages.delete(response));
  } else if (request.method === "POST" && path[2] === "say") {
    void answer(await bodyOf(request));
    response.writeHead(202).end();
  } else if (request.method === "POST" && path[2] === "answer") {
    const { id, allowed } = JSON.parse(await bodyOf(request)) as { id: string; allowed: boolean };
    open.get(id)?.({ allowed });
    open.delete(id);
    response.writeHead(202).end();
  } else {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE);
  }
}

const PAGE = `<!doctype html><meta charset=utf-8><title>Chat</title>
<style>body{font:16px sans-serif;max-width:44em;margin:2em auto}pre{white-space:pre-wrap;background:#eee}.user{color:#06c}.tool{color:#777}</style>
<div id=log></div><form><input id=text size=60 autofocus autocomplete=off> <button>Send</button></form><script type=module>
const at = location.pathname, log = document.getElementById("log"), text = document.getElementById("text");
const add = (words, kind, tag = "div") => { const e = document.createElement(tag); e.className = kind; e.textContent = words; log.append(e); return e; };
const post = (path, body) => fetch(at + "/" + path, { method: "POST", body });
let said;
new EventSource(at + "/events").onmessage = ({ data }) => {
  const m = JSON.parse(data);
  if (m.user) { add("> " + m.user, "user"); said = undefined; }
  if (m.delta) { said ??= add("", "agent"); said.textContent += m.delta; }
  if (m.tool) { add(m.tool, "tool"); said = undefined; }
  if (m.error) add(m.error, "error");
  if (m.answered) document.getElementById("ask-" + m.answered)?.remove();
  if (m.ask) {
    const box = add("May it? " + m.text, "ask"); box.id = "ask-" + m.ask;
    const shown = document.createElement("pre"); shown.textContent = JSON.stringify(m.diff, null, 1); box.append(shown);
    for (const allowed of [true, false]) { const b = document.createElement("button"); b.textContent = allowed ? "Allow" : "Deny"; b.onclick = () => post("answer", JSON.stringify({ id: m.ask, allowed })); box.append(b); }
  }
};
document.forms[0].onsubmit = (event) => { event.preventDefault(); post("say", text.value); text.value = ""; };
</script>`;

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${key}`));
process.once("SIGTERM", () => void agent[Symbol.asyncDispose]().then(() => process.exit(0)));
