// @ts-check
// Shortcuts: those of every page, those of the view, and the overlay that lists them.

import { element } from "/markup.js";

/** A key or two keys, what they do, and how. @typedef {[string, string, () => void]} Shortcut */

/** @type {[string, Shortcut[]][]} */
let groups = [];
/** The first key of a pair, until the second. */
let pending = "";
let timer = 0;

/**
 * Sets the shortcuts of the view that is shown.
 * @param {string} title
 * @param {Shortcut[]} shortcuts
 */
export function setViewKeys(title, shortcuts) {
  groups = [groups[0], [title, shortcuts]];
}

/** @param {Shortcut[]} everywhere */
export function listenToKeys(everywhere) {
  groups = [["Everywhere", [...everywhere, ["?", "this list", showHelp]]]];
  document.addEventListener("keydown", take);
}

/** @param {KeyboardEvent} event */
function take(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.closest("input, textarea, select") !== null;
  if (event.key === "Escape" && isTyping) return target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  // A card answers its own keys.
  const own = target.closest("[data-keys]");
  if (own && !pending) {
    const button = /** @type {HTMLElement | null} */ (own.querySelector(`[data-key="${CSS.escape(event.key)}"]`));
    if (button) {
      event.preventDefault();
      return button.click();
    }
  }
  const typed = pending ? `${pending} ${event.key}` : event.key;
  pending = "";
  clearTimeout(timer);
  const all = groups.flatMap(([, shortcuts]) => shortcuts);
  const found = all.find(([key]) => key === typed);
  if (found) {
    event.preventDefault();
    found[2]();
  } else if (all.some(([key]) => key.startsWith(`${typed} `))) {
    pending = typed;
    timer = window.setTimeout(() => {
      pending = "";
    }, 1500);
  }
}

export function showHelp() {
  const card = [
    ["a", "allow"],
    ["r", "allow for this run"],
    ["d", "deny"],
  ];
  const lists = [
    ...groups.map(([title, shortcuts]) => /** @type {const} */ ([title, shortcuts.map(([key, what]) => [key, what])])),
    /** @type {const} */ (["On a request that has the focus", card]),
  ];
  const dialog = element(
    "dialog",
    { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    element(
      "header",
      {},
      element("h2", { id: "help-title" }, "Keyboard"),
      element("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, "✕"),
    ),
    element(
      "div",
      { class: "help-lists" },
      ...lists
        .filter(([, keys]) => keys.length)
        .map(([title, keys]) =>
          element(
            "section",
            {},
            element("h3", {}, title),
            element(
              "dl",
              {},
              ...keys.map(([key, what]) => element("div", {}, element("dt", {}, ...keycaps(key)), element("dd", {}, what))),
            ),
          ),
        ),
    ),
  );
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.showModal();
}

/** The address of the page before this one. */
let lastPlace = "";

/** @param {string} address */
export function noteLastPlace(address) {
  lastPlace = address;
}

/** A reader who comes back to a list finds the row that led away from it. @param {HTMLElement} list */
export function focusLastRow(list) {
  if (!lastPlace) return;
  const row = /** @type {HTMLElement | null} */ (list.querySelector(`a.row-link[href="${CSS.escape(lastPlace)}"]`));
  lastPlace = "";
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "center" });
}

/** @param {string} key */
function keycaps(key) {
  return key.split(" ").flatMap((part, at) => (at ? [" ", element("kbd", {}, part)] : [element("kbd", {}, part)]));
}

/**
 * Moves the focus along the rows of a list.
 * @param {HTMLElement} list
 * @returns {Shortcut[]}
 */
export function rowKeys(list) {
  const move = (/** @type {number} */ step) => {
    const links = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("a.row-link")]);
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = links[Math.max(0, Math.min(links.length - 1, at + step))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  return [
    ["j", "next row", () => move(1)],
    ["k", "previous row", () => move(-1)],
    [
      "Enter",
      "open the row",
      () => {
        /** @type {HTMLElement} */ (document.activeElement)?.click();
      },
    ],
  ];
}
