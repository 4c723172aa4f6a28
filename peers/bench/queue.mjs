// Graphile Worker beside the store of a fleet, on the same database: jobs per second, each submitted by itself, and the time from
// submitting a job to its start. Prints three numbers: jobs per second, the median and the 99th percentile in milliseconds.
//
// node queue.mjs FOLDER-OF-PEERS DATABASE-URL SECONDS CLIENTS
import { createRequire } from "node:module";
import { join } from "node:path";

const [peers, connectionString, seconds, clients] = process.argv.slice(2);
const require = createRequire(join(peers, "package.json"));
const { Logger, makeWorkerUtils, run } = require("graphile-worker");

const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ connectionString, maxPoolSize: Number(clients), logger });
await utils.migrate();

let done = 0;
/** Jobs whose start is waited for. @type {Map<number, (at: number) => void>} */
const waited = new Map();
const runner = await run({
  connectionString,
  logger,
  concurrency: Number(clients),
  maxPoolSize: Number(clients) + 2,
  noHandleSignals: true,
  taskList: {
    job: async (payload) => {
      done += 1;
      waited.get(payload.number)?.(performance.now());
    },
  },
});

const end = performance.now() + Number(seconds) * 1000;
const submit = async () => {
  while (performance.now() < end) await utils.addJob("job", { number: -1 });
};
await Promise.all(Array.from({ length: Number(clients) }, submit));
const rate = done / Number(seconds);
// What is left is done before single jobs are timed.
let before = -1;
while (before !== done) {
  before = done;
  await new Promise((resolve) => setTimeout(resolve, 500));
}

const times = [];
for (let number = 0; number < 200; number += 1) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  const began = performance.now();
  const started = new Promise((resolve) => waited.set(number, resolve));
  await utils.addJob("job", { number });
  times.push((await started) - began);
}
times.sort((one, other) => one - other);
const at = (share) => times[Math.floor(times.length * share)];
console.log(`${rate.toFixed(1)} ${at(0.5).toFixed(3)} ${at(0.99).toFixed(3)}`);
await runner.stop();
await utils.release();
