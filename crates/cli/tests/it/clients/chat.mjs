// Drives `examples/chat.ts` as its page does.
import { spawn } from "node:child_process";
import { once } from "node:events";

const chat = spawn(process.execPath, ["chat.js", "demo"], { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(chat.stdout, "data");
const at = line.toString().trim();
const page = await (await fetch(at)).text();
if (!page.includes("new EventSource")) throw new Error(page);
const post = (path, body) => fetch(`${at}/${path}`, { method: "POST", body });
const events = await fetch(`${at}/events`);
await post("say", "fix the greeting");
let rest = "";
let text = "";
reading: for await (const piece of events.body.pipeThrough(new TextDecoderStream())) {
  const parts = (rest + piece).split("\n\n");
  rest = parts.pop();
  for (const part of parts.filter((part) => part.startsWith("data: "))) {
    const message = JSON.parse(part.slice("data: ".length));
    text += message.delta ?? "";
    if (message.ask) {
      console.log(`asked: ${message.text}`);
      await post("answer", JSON.stringify({ id: message.ask, allowed: true }));
    }
    if (message.error) throw new Error(message.error);
    if (message.done) break reading;
  }
}
console.log(text);
console.log(`an answer that is not JSON: ${(await post("answer", "{")).status}`);
console.log(`status without the key: ${(await fetch(new URL("/", at))).status}`);
chat.kill("SIGTERM");
const [code] = await once(chat, "exit");
console.log(`ended: ${code}`);
