// @ts-check
// The only place where text becomes markup. HTML comes from the server's renderer, which escapes what agents wrote; everything
// else is set as text.

/** @type {{ createHTML(html: string): any }} */
const policy = /** @type {any} */ (window).trustedTypes
  ? /** @type {any} */ (window).trustedTypes.createPolicy("lapidary", { createHTML: (/** @type {string} */ html) => html })
  : { createHTML: (/** @type {string} */ html) => html };

/**
 * Sets markup that the server has rendered.
 * @param {Element} element
 * @param {string} html
 */
export function setRendered(element, html) {
  element.innerHTML = policy.createHTML(html);
}

/**
 * An element with attributes and children. Strings become text, never markup.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return made;
}

/** @param {any} child */
function asNode(child) {
  return child instanceof Node ? child : String(child);
}

/** @param {number | undefined} ms */
export function duration(ms) {
  if (ms === undefined) return "";
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** @param {string | undefined} time */
export function ago(time) {
  if (!time) return "";
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(time).toISOString().slice(0, 10);
}

/** @param {number | undefined} count */
export function tokens(count) {
  if (count === undefined) return "";
  if (count < 1000) return String(count);
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(1)}M`;
}

/** @param {string | undefined} path */
export function shortPath(path) {
  const parts = (path ?? "").split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : (path ?? "");
}

/**
 * @param {string} text
 * @param {string} [hint]
 */
export function problem(text, hint) {
  return element("div", { class: "notice error", role: "alert" }, element("span", { class: "label" }, "error"), " ", text,
    hint ? element("p", { class: "note" }, "Hint: ", hint) : null);
}
