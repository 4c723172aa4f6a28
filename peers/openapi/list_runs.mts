// A client that is generated from the document of the API: it lists runs, and starts one.
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

declare const process: { argv: string[] };

const [baseUrl = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

const started = await client.POST("/api/v1/runs", { body: { prompt: "hello", agent: "demo" } });
if (!started.data) throw new Error(started.error.detail);
const listed = await client.GET("/api/v1/runs", { params: { query: { limit: "5" } } });
if (!listed.data) throw new Error(listed.error.detail);
for (const run of listed.data.runs) console.log(run.id, run.state);

// @ts-expect-error: the document has no such field of a run
listed.data.runs[0]?.surprise;
