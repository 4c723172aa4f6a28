// An A2A agent on the official SDK, for the tests of our client.
//
// usage: node server.mjs 0.3|1.0 streaming|polling
// The SDK stands in the working directory's `node_modules`. The first line of stdout is the port. With A2A_TOKEN set, requests need it
// as a bearer token; with A2A_CARD_TOKEN set, the card does, too. The first word of a prompt says how the agent behaves.
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const [version, mode] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${process.cwd()}/server.mjs`));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const { default: express } = await load("express");
const sdk = await load(`a2a-${version}`);
const server = await load(`a2a-${version}/server`);
const routes = await load(`a2a-${version}/server/express`);
const isNew = version === "1.0";

const state = (word) =>
  isNew ? sdk.TaskState[`TASK_STATE_${word.toUpperCase().replace("-", "_")}`] : word;
const part = (text) =>
  isNew ? sdk.Part.fromJSON({ text }) : { kind: "text", text };
const message = (text, ids) => {
  const common = { messageId: randomUUID(), parts: [part(text)], ...ids };
  return isNew
    ? sdk.Message.fromJSON({ ...common, role: "ROLE_AGENT", parts: [{ text }] })
    : { kind: "message", role: "agent", ...common };
};
const status = (word, text, ids) => {
  const timestamp = new Date().toISOString();
  const said = text === undefined ? {} : { message: message(text, ids) };
  return { state: state(word), timestamp, ...said };
};

/** Publishes in the words of either version. */
class Publisher {
  constructor(bus, ids) {
    this.bus = bus;
    this.ids = ids;
  }
  task() {
    const task = { id: this.ids.taskId, contextId: this.ids.contextId, status: status("submitted") };
    const both = { ...task, history: [], artifacts: [] };
    this.bus.publish(isNew ? server.AgentEvent.task(both) : { kind: "task", ...both });
  }
  status(word, text, final = false) {
    const update = { ...this.ids, status: status(word, text, this.ids) };
    this.bus.publish(
      isNew ? server.AgentEvent.statusUpdate(update) : { kind: "status-update", final, ...update },
    );
  }
  artifact(name, text, append, lastChunk) {
    const artifact = { artifactId: name, name, parts: [part(text)], extensions: [], description: "" };
    const update = { ...this.ids, artifact, append, lastChunk };
    this.bus.publish(
      isNew ? server.AgentEvent.artifactUpdate(update) : { kind: "artifact-update", ...update },
    );
  }
  message(text) {
    const said = message(text, { contextId: this.ids.contextId });
    this.bus.publish(isNew ? server.AgentEvent.message(said) : said);
  }
}

const textOf = (asked) => {
  const first = asked.parts[0];
  return first.text ?? first.content?.value ?? "";
};

class Agent {
  cancelled = new Set();
  execute = async (context, bus) => {
    const { taskId, contextId, userMessage, task } = context;
    const publisher = new Publisher(bus, { taskId, contextId });
    const prompt = textOf(userMessage);
    const [word] = prompt.split(" ");
    console.log(JSON.stringify({ prompt, contextId, task: task?.id ?? null }));
    if (word === "message") {
      publisher.message(`You said: ${prompt}`);
      bus.finished();
      return;
    }
    if (!task) publisher.task();
    else if (isNew) bus.publish(server.AgentEvent.task(task)); // 1.0 wants the task before its updates
    publisher.status("working", "thinking");
    if (word === "slow") await this.untilCancelled(taskId, publisher);
    else if (word === "ask" && !task) publisher.status("input-required", "Which file?", true);
    else if (word === "fail") publisher.status("failed", "The disk is full.", true);
    else if (word === "login") publisher.status("auth-required", "Log in first.", true);
    else {
      publisher.artifact("out.txt", "Hel", false, false);
      publisher.artifact("out.txt", "lo", true, true);
      publisher.status("completed", undefined, true);
    }
    bus.finished();
  };
  untilCancelled = async (taskId, publisher) => {
    for (let tick = 0; !this.cancelled.has(taskId) && tick < 600; tick += 1)
      await new Promise((wake) => setTimeout(wake, 50));
    publisher.status("canceled", undefined, true);
  };
  cancelTask = async (taskId) => {
    console.log(JSON.stringify({ cancelled: taskId }));
    this.cancelled.add(taskId);
  };
}

const app = express();
const needs = (variable) => (request, response, next) => {
  const token = process.env[variable];
  if (token && request.headers.authorization !== `Bearer ${token}`)
    response.status(401).json({ error: "who are you?" });
  else next();
};
const listening = app.listen(0, "127.0.0.1", () => {
  const base = `http://127.0.0.1:${listening.address().port}`;
  const interfaces = [
    ["JSONRPC", `${base}/rpc`],
    ["HTTP+JSON", `${base}/rest`],
  ];
  const common = {
    name: "Test agent",
    description: "Answers on order.",
    version: "1.2.3",
    capabilities: { streaming: mode === "streaming", pushNotifications: false, extensions: [] },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [{ id: "s", name: "Greet", description: "Says hello", tags: [], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  };
  const card = isNew
    ? sdk.AgentCard.fromJSON({
        ...common,
        supportedInterfaces: interfaces.map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion: "1.0" })),
      })
    : {
        ...common,
        protocolVersion: "0.3.0",
        url: `${base}/rpc`,
        preferredTransport: "JSONRPC",
        additionalInterfaces: interfaces.map(([transport, url]) => ({ url, transport })),
      };
  const requestHandler = new server.DefaultRequestHandler(card, new server.InMemoryTaskStore(), new Agent());
  const userBuilder = routes.UserBuilder.noAuthentication;
  app.use("/card.json", needs("A2A_CARD_TOKEN"), routes.agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", needs("A2A_TOKEN"), routes.jsonRpcHandler({ requestHandler, userBuilder }));
  app.use("/rest", needs("A2A_TOKEN"), routes.restHandler({ requestHandler, userBuilder }));
  console.log(listening.address().port);
});
