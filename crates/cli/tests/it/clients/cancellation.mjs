// What ends when a signal is aborted, a connection is disposed of, or a callback returns nothing. The argument is an ACP agent.
import { connect, run, runResult } from "lapidary";

const aborted = { prompt: "hi", agent: "demo", signal: AbortSignal.abort() };
for (const start of [() => run(aborted).finished(), () => runResult(aborted)]) {
  await start().catch((error) => console.log(error.name));
}

const options = { agent: process.env.AGENT, trustWorkspace: true };
const idle = connect(options);
await idle.command({ command: "load_session", sessionId: "old" }); // the agent says `as I said`
console.log((await idle.send("say one")).text);
await idle[Symbol.asyncDispose]();
console.log("disposed of when idle:", idle.end?.outcome);

const busy = connect(options);
const turn = busy.prompt("say two; deaf");
for (let step = await turn.next(); step.value.event !== "stream_delta"; step = await turn.next());
await busy[Symbol.asyncDispose]();
await busy.finished();
console.log("disposed of in a turn:", busy.end?.outcome);

const forgetful = run({ prompt: "fix the greeting", agent: "demo", onPermission: () => {} });
await forgetful.finished().catch((error) => console.log(String(error)));
