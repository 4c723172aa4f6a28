// @ts-check
// The head of a request: the agent that asks, and a link to its run or ticket, which has the title as soon as that is known.

import { get } from "/api.js";
import { agentMark, element } from "/markup.js";

/**
 * @param {string | undefined} provider
 * @param {(Node | string)[]} says
 * @param {string} page `runs/ID` or `fleet/ID`
 */
export function requestHead(provider, says, page) {
  const agent = element("span", {}, agentMark(provider));
  const link = element("a", { href: `#/${page}` }, page.startsWith("runs/") ? "show run" : "show ticket");
  void titleOf(page).then(
    ([name, title]) => {
      if (name) agent.replaceChildren(agentMark(name));
      if (title) link.textContent = link.title = title.split("\n")[0];
    },
    () => {}, // the link leads there all the same
  );
  return element("h3", {}, agent, ...says, link);
}

/** @param {string} page @returns {Promise<[string | null | undefined, string | null | undefined]>} */
async function titleOf(page) {
  if (page.startsWith("fleet/")) {
    /** @type {import("./types").FleetTicketReport} */
    const ticket = await get(`/api/v1/${page.replace("/", "/tickets/")}`);
    return [ticket.agent, ticket.title];
  }
  /** @type {import("./types").ShownRun} */
  const { run, prompt } = await get(`/api/v1/${page}`);
  return [run.agent, run.prompt || prompt];
}
