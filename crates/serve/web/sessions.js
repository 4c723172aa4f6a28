// @ts-check
// Sessions of all agents: a list that is searched as one types, and transcripts with jumps from prompt to prompt.

import { ApiError, get, lines } from "/api.js";
import { ago, counted, dayName, duration, shortPath } from "/format.js";
import { focusLastRow, rowKeys, setViewKeys } from "/keys.js";
import { agentMark, copyButton, element, noSessions, problem, select } from "/markup.js";
import { factRows } from "/run.js";
import { grouped } from "/runs.js";
import { Transcript } from "/transcript.js";

/** @typedef {import("./types").SessionInfo} SessionInfo */

const TYPING_MS = 150;
const FIRST_ROWS = 200;

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} _
 * @param {URLSearchParams} asked
 */
export async function showSessions(view, signal, _, asked) {
  const query = element("input", {
    type: "search",
    placeholder: "Search prompts, answers, commands and files",
    "aria-label": "Search sessions",
    value: asked.get("q") ?? "",
  });
  const agent = select({ "aria-label": "Agent" }, [["", "all agents"]]);
  const project = select({ "aria-label": "Project" }, [["", "all projects"]]);
  const count = element("p", { class: "count-line", role: "status" });
  const list = element("div", { class: "rows" });
  const more = element(
    "button",
    {
      type: "button",
      class: "quiet more",
      hidden: true,
      onclick: () => {
        limit *= 5;
        look();
      },
    },
    "Show more sessions",
  );
  view.append(
    element("div", { class: "list-head" }, element("h1", {}, "Sessions"), count),
    element("div", { class: "search", role: "search" }, query, agent, project),
    list,
    more,
  );
  setViewKeys("Sessions", [["/", "search", () => query.select()], ...rowKeys(list)]);

  let limit = FIRST_ROWS;
  let current = new AbortController();
  let timer = 0;
  const look = async () => {
    current.abort();
    current = new AbortController();
    const mine = AbortSignal.any([signal, current.signal]);
    const wanted = new URLSearchParams({ limit: String(limit) });
    for (const [name, value] of [
      ["q", query.value.trim()],
      ["agent", agent.value],
      ["project", project.value],
    ])
      if (value) wanted.set(name, value);
    const address = new URLSearchParams(wanted);
    address.delete("limit");
    history.replaceState(null, "", address.size ? `#/sessions?${address}` : "#/sessions");
    list.setAttribute("aria-busy", "true");
    try {
      const found = await get(`/api/v1/sessions?${wanted}`, mine);
      if (!mine.aborted) draw(found);
    } catch (error) {
      if (mine.aborted) return;
      const known = error instanceof ApiError ? error : undefined;
      list.replaceChildren(problem(error instanceof Error ? error.message : String(error), known?.hint));
    }
    list.removeAttribute("aria-busy");
  };

  /** @param {import("./types").SessionsFound} found */
  function draw(found) {
    const sessions = found.hits ?? newestFirst(found.sessions ?? []);
    const total = found.total ?? sessions.length;
    more.hidden = sessions.length < limit;
    count.textContent = more.hidden || found.hits ? counted(total, "session") : `the newest ${limit}`;
    const rows = found.hits
      ? sessions.map((it) => sessionRow(it, query.value.trim()))
      : grouped(
          sessions,
          (it) => dayName(it.lastUpdated ?? it.startTime),
          (it) => sessionRow(it, ""),
        );
    const isNarrowed = query.value.trim() || agent.value || project.value;
    const nothing = () => (isNarrowed ? element("p", { class: "empty" }, "No session was found.") : noSessions("No sessions yet"));
    list.replaceChildren(...(rows.length ? rows : [nothing()]));
  }

  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(look, TYPING_MS);
  });
  agent.addEventListener("change", look);
  project.addEventListener("change", look);
  if (matchMedia("(hover: hover)").matches) query.focus();
  await listChoices(agent, project, asked, signal);
  await look();
  focusLastRow(list);
}

/**
 * The agents and projects that have sessions.
 * @param {HTMLSelectElement} agent
 * @param {HTMLSelectElement} project
 * @param {URLSearchParams} asked
 * @param {AbortSignal} signal
 */
async function listChoices(agent, project, asked, signal) {
  /** @type {SessionInfo[]} */
  const sessions = (await get("/api/v1/sessions", signal)).sessions;
  const distinct = (/** @type {(string | undefined)[]} */ all) => [...new Set(all)].filter((it) => it !== undefined).sort();
  agent.append(...distinct(sessions.map((it) => it.provider)).map((it) => element("option", { value: it }, it)));
  project.append(...distinct(sessions.map((it) => it.project)).map((it) => element("option", { value: it }, shortPath(it))));
  agent.value = asked.get("agent") ?? "";
  project.value = asked.get("project") ?? "";
}

/** @param {SessionInfo[]} sessions */
function newestFirst(sessions) {
  return [...sessions].sort((one, other) => Date.parse(other.lastUpdated ?? "") - Date.parse(one.lastUpdated ?? ""));
}

/**
 * @param {SessionInfo} session
 * @param {string} query
 */
function sessionRow(session, query) {
  const hits = (session.matchSnippets ?? [])
    .slice(0, 3)
    .map((hit) =>
      element(
        "p",
        { class: "hit" },
        element("span", { class: "role" }, hit.tool ?? hit.role),
        hit.before ?? "",
        element("mark", {}, hit.match ?? ""),
        hit.after ?? "",
      ),
    );
  const facts = [shortPath(session.project), session.messageCount ? counted(session.messageCount, "message") : ""].filter(
    Boolean,
  );
  const rest = (session.matchingTexts ?? 0) - hits.length;
  const address = `#/sessions/${session.id}${query ? `?${new URLSearchParams({ q: query })}` : ""}`;
  return element(
    "article",
    { class: "row" },
    element(
      "div",
      { class: "row-text" },
      element("a", { class: "row-link", href: address }, session.displayName || session.id),
      element("p", { class: "row-note" }, agentMark(session.provider), ...facts.map((it) => element("span", {}, it))),
      ...hits,
      rest > 0 ? element("p", { class: "row-note" }, `${counted(rest, "more place")}`) : null,
    ),
    element(
      "div",
      { class: "row-side" },
      element("time", { datetime: session.lastUpdated ?? "" }, ago(session.lastUpdated ?? session.startTime)),
    ),
  );
}

/**
 * @param {HTMLElement} view
 * @param {AbortSignal} signal
 * @param {string} id
 * @param {URLSearchParams} asked
 */
export async function showSession(view, signal, id, asked) {
  const transcript = new Transcript(signal, { follows: false });
  const title = element("h1", {}, "…");
  const bar = element("div", { class: "run-bar" }, title, transcript.jumps);
  const facts = element("dl", { class: "facts" });
  const back = asked.get("q") ? `#/sessions?${new URLSearchParams({ q: asked.get("q") ?? "" })}` : "#/sessions";
  view.append(
    element("p", { class: "crumbs" }, element("a", { href: back }, "Sessions"), " / ", element("code", {}, id)),
    bar,
    facts,
    element("div", { class: "reading" }, element("div", {}, transcript.place), transcript.rail),
  );
  setViewKeys("This session", transcript.keys());
  // Facts come with every piece of a long session: the first ones are shown, and then the last ones.
  /** @type {import("./types").Facts | undefined} */
  let latest;
  const read = lines(`/api/v1/sessions/${encodeURIComponent(id)}?format=blocks`, signal, (it) => {
    if (!it.facts) return transcript.set(it.block, it.html);
    if (!latest) showFacts(it.facts);
    latest = it.facts;
  });
  await read.catch((error) => {
    if (!latest) for (const it of [bar, facts]) it.remove(); // there is nothing to name
    throw error;
  });
  if (latest) showFacts(latest);
  transcript.draw();
  if (asked.get("q")) markWords(transcript, asked.get("q") ?? "");

  /** @param {import("./types").Facts} known */
  function showFacts(known) {
    title.textContent = (known.title ?? id).split("\n")[0];
    document.dispatchEvent(new CustomEvent("lapidary-title", { detail: title.textContent }));
    const started = known.startedAt
      ? new Date(known.startedAt).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })
      : "";
    facts.replaceChildren(
      ...factRows([
        ["Agent", agentMark(known.provider)],
        ["Model", known.model],
        ["Started", started],
        ["Duration", known.durationMs ? duration(known.durationMs) : ""],
        ["Tokens", known.totalTokens ? known.totalTokens.toLocaleString() : "", known.tokenParts],
        ["Cost", known.cost, known.costBasis ?? ""],
        ["Tool calls", known.toolCalls ? String(known.toolCalls) : "", known.failedCalls ? `${known.failedCalls} failed` : ""],
        ["Directory", known.cwd ? element("code", {}, known.cwd) : ""],
        ["Continue", copyButton(`lapidary sessions resume ${id}`, "Copy command")],
      ]),
    );
  }
}

/**
 * Marks the words of a search in a transcript, and goes to the first.
 * @param {Transcript} transcript
 * @param {string} query
 */
function markWords(transcript, query) {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((it) => it.length > 1);
  const marks = "highlights" in CSS ? new Highlight() : undefined;
  if (marks) CSS.highlights.set("found", marks);
  transcript.signal.addEventListener("abort", () => CSS.highlights?.delete("found"));
  const mark = (/** @type {HTMLElement} */ block) => {
    for (const range of rangesOf(block, words)) marks?.add(range);
  };
  transcript.onBlock = mark;
  for (const block of transcript.place.querySelectorAll(".block")) mark(/** @type {HTMLElement} */ (block));
  const first = transcript.find(words);
  if (first < 0) return;
  transcript.goTo(first);
  const [range] = rangesOf(/** @type {HTMLElement} */ (transcript.blockAt(first)), words);
  for (let fold = range?.startContainer.parentElement?.closest("details"); fold; fold = fold.parentElement?.closest("details"))
    fold.open = true;
}

/**
 * The places of words in a block.
 * @param {HTMLElement} block
 * @param {string[]} words Lower case.
 */
function rangesOf(block, words) {
  const ranges = [];
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = /** @type {Text} */ (walker.currentNode);
    const lower = text.data.toLowerCase();
    for (const word of words) {
      for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, Math.min(at + word.length, text.length));
        ranges.push(range);
      }
    }
  }
  return ranges;
}
