// @ts-check
// The only place where text becomes markup. HTML comes from the server's renderer, which escapes what agents wrote; everything
// else is set as text.

/** @type {{ createHTML(html: string): any }} */
const policy = /** @type {any} */ (window).trustedTypes
  ? /** @type {any} */ (window).trustedTypes.createPolicy("lapidary", { createHTML: (/** @type {string} */ html) => html })
  : { createHTML: (/** @type {string} */ html) => html };

/**
 * Sets markup that the server has rendered.
 * @param {Element} place
 * @param {string} html
 */
export function setRendered(place, html) {
  place.innerHTML = policy.createHTML(html);
}

/** Tells a screen reader what happened, once. @param {string} text */
export function announce(text) {
  const said = document.getElementById("said");
  if (said) said.textContent = text;
}

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes and children. Strings become text, never markup.
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...shown(children));
  return made;
}

/**
 * An element of SVG.
 * @param {string} name
 * @param {Record<string, string | number>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(name, attributes = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...shown(children));
  return made;
}

/** Characters that reorder a text, as the server's renderer has them. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** @param {Child[]} children @returns {(Node | string)[]} */
function shown(children) {
  const kept = children.filter((child) => child !== null && child !== undefined && child !== false);
  return kept.map((child) => (child instanceof Node ? child : inOrder(String(child))));
}

/**
 * The text, whose letters stand in the order in which a shell reads them.
 * @param {string} text
 */
function inOrder(text) {
  return text.replace(REORDERING, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
}

/**
 * A sentence of ours, in which backticks mark names.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function sentence(text) {
  return text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

/**
 * A select with options, each a value and its text.
 * @param {Record<string, any>} attributes
 * @param {[string, string][]} options
 */
export function select(attributes, options) {
  return element("select", attributes, ...options.map(([value, text]) => element("option", { value }, text)));
}

/**
 * The mark of an agent: its name with its colour.
 * @param {string | undefined} name
 */
export function agentMark(name) {
  return element("span", { class: `agent ${agentClass(name)}` }, name || "agent");
}

const KNOWN_AGENTS = ["gemini", "claude", "codex", "qwen", "opencode"];

/** @param {string | undefined} name */
export function agentClass(name) {
  if (name === "demo" || name === "lapidary") return "of-lapidary";
  return KNOWN_AGENTS.includes(name ?? "") ? `of-${name}` : "of-other";
}

/** What a list of sessions shows on a machine that has none. @param {string} what */
export function noSessions(what) {
  return element(
    "div",
    { class: "empty large" },
    element("strong", {}, what),
    element(
      "p",
      {},
      "Sessions of Gemini CLI, Claude Code, Codex CLI, Qwen Code and opencode on this machine appear here, and so do ",
      element("a", { href: "#/runs" }, "runs that you start"),
      ".",
    ),
  );
}

/**
 * @param {string} text
 * @param {string} [hint]
 */
export function problem(text, hint) {
  return element(
    "div",
    { class: "notice error", role: "alert" },
    element("span", { class: "label" }, "error"),
    " ",
    ...sentence(text),
    hint ? element("p", { class: "note" }, "Hint: ", ...sentence(hint)) : null,
  );
}

/**
 * A button that copies a text, such as a command to type.
 * @param {string} text
 * @param {string} [label]
 */
export function copyButton(text, label = "Copy") {
  const button = element(
    "button",
    {
      type: "button",
      class: "quiet",
      title: text,
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          button.textContent = "Copied";
        } catch {
          button.textContent = text; // the browser does not let us: it can be selected
        }
      },
    },
    label,
  );
  return button;
}
