// @ts-check
// A transcript: blocks that the server has rendered, the list of its prompts, and the jumps between them.
//
// A long transcript has hundreds of thousands of elements. So its blocks stand in chunks, and only chunks near the window have their
// elements; the others keep their height. A short one has all of them, and the browser's own search finds everything in it.

import { element, setRendered } from "/markup.js";

const CHUNK_BLOCKS = 10;
/** Up to this many blocks nothing is taken away. */
const SHORT_BLOCKS = 400;
/** Chunks this far from the window have their elements, in pixels. */
const NEAR_PX = 1200;
/** The height of a block that was never seen, in pixels. */
const BLOCK_PX = 70;
/** The bars above the text, in pixels. */
const TOP_PX = 130;

/** Neighbouring blocks. @typedef {{ place: HTMLElement, from: number, isFilled: boolean }} Chunk */

export class Transcript {
  /**
   * @param {AbortSignal} signal
   * @param {{ follows: boolean }} options Whether the page scrolls with the end, where the reader is there.
   */
  constructor(signal, { follows }) {
    this.place = element("div", { class: "transcript" });
    this.outline = element("ol", {});
    this.rail = element(
      "nav",
      { class: "rail", "aria-label": "Prompts", hidden: true },
      element("h2", {}, "Prompts"),
      this.outline,
    );
    this.jumps = element(
      "span",
      { class: "jumps", hidden: true },
      this.jumpButton("↑", "Previous prompt", "k", -1),
      this.jumpButton("↓", "Next prompt", "j", 1),
    );
    this.toEnd = element(
      "button",
      { type: "button", class: "to-end", hidden: true, onclick: () => this.scrollToEnd() },
      "↓ New below",
    );
    this.signal = signal;
    this.follows = follows;
    /** Whether the reader is at the end, as of the last scroll. */
    this.isAtEnd = true;
    /** The markup of each block. @type {string[]} */
    this.html = [];
    /** @type {Chunk[]} */
    this.chunks = [];
    /** @type {WeakMap<Element, Chunk>} */
    this.chunkAt = new WeakMap();
    /** Folds that the reader left, by block. @type {Map<number, boolean[]>} */
    this.folds = new Map();
    /** Whether everything was unfolded or folded at once. @type {boolean | undefined} */
    this.isUnfolded = undefined;
    /** Blocks that have changed since the last frame. @type {Set<number>} */
    this.changed = new Set();
    /** The list entry of each prompt, by block, and blocks with a failure. @type {Map<number, HTMLElement>} */
    this.entries = new Map();
    /** @type {Set<number>} */
    this.failures = new Set();
    /** The entry of the prompt that the reader is below. @type {HTMLElement | undefined} */
    this.here = undefined;
    /** The block of the last jump. */
    this.target = -1;
    /** Called for each block that gets its elements. @type {(block: HTMLElement) => void} */
    this.onBlock = () => {};
    this.isPlanned = false;
    this.observer = new IntersectionObserver((entries) => this.noteNear(entries), { rootMargin: `${NEAR_PX}px 0px` });
    signal.addEventListener("abort", () => this.observer.disconnect());
    let isNoted = false;
    addEventListener(
      "scroll",
      () => {
        if (isNoted) return;
        isNoted = true;
        requestAnimationFrame(() => {
          isNoted = false;
          this.noteScroll();
        });
      },
      { signal, passive: true },
    );
  }

  /**
   * @param {number} number
   * @param {string} html
   */
  set(number, html) {
    this.html[number] = html;
    this.changed.add(number);
    if (/class="(tool failed|notice error)/.test(html)) this.failures.add(number);
    this.plan();
  }

  plan() {
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => {
      this.isPlanned = false;
      if (!this.signal.aborted) this.draw();
    });
  }

  draw() {
    const entries = document.createDocumentFragment();
    for (const number of this.changed) {
      const chunk = this.chunkOf(number);
      const text = /<div class="typed"[^>]*>([^]{0,200}?)<\/div>/.exec(this.html[number].slice(0, 600));
      if (text && this.html[number].includes('class="prompt"')) entries.append(...this.list(number, decoded(text[1])));
      if (chunk.isFilled) this.drawBlock(chunk, number);
    }
    this.changed.clear();
    this.outline.append(entries);
    this.rail.hidden = this.jumps.hidden = this.entries.size < 2;
    if (!this.follows) return;
    if (this.isAtEnd) this.scrollToEnd();
    else this.toEnd.hidden = false;
  }

  /** The chunk of a block, made if it is the first of it. @param {number} number @returns {Chunk} */
  chunkOf(number) {
    const at = Math.floor(number / CHUNK_BLOCKS);
    while (this.chunks.length <= at) {
      const chunk = {
        place: element("div", { class: "chunk" }),
        from: this.chunks.length * CHUNK_BLOCKS,
        isFilled: this.html.length <= SHORT_BLOCKS,
      };
      if (!chunk.isFilled) chunk.place.style.height = `${CHUNK_BLOCKS * BLOCK_PX}px`;
      this.chunks.push(chunk);
      this.chunkAt.set(chunk.place, chunk);
      this.place.append(chunk.place);
      this.observer.observe(chunk.place);
    }
    return this.chunks[at];
  }

  /** @param {IntersectionObserverEntry[]} entries */
  noteNear(entries) {
    for (const entry of entries) {
      const chunk = this.chunkAt.get(entry.target);
      if (!chunk) continue;
      if (entry.isIntersecting) this.fill(chunk);
      else if (this.html.length > SHORT_BLOCKS) this.empty(chunk);
    }
  }

  /** @param {Chunk} chunk */
  fill(chunk) {
    if (chunk.isFilled) return;
    chunk.isFilled = true;
    chunk.place.style.height = "";
    for (let number = chunk.from; number < chunk.from + CHUNK_BLOCKS && number < this.html.length; number++)
      this.drawBlock(chunk, number);
  }

  /** Takes the elements of a chunk away, unless the reader uses them. @param {Chunk} chunk */
  empty(chunk) {
    const isUsed = chunk.place.contains(document.activeElement) || !(document.getSelection()?.isCollapsed ?? true);
    if (!chunk.isFilled || isUsed) return;
    chunk.place.style.height = `${chunk.place.offsetHeight}px`;
    [...chunk.place.children].forEach((block, at) => this.keepFolds(chunk.from + at, block));
    chunk.place.replaceChildren();
    chunk.isFilled = false;
  }

  /**
   * @param {number} number
   * @param {Element} block
   */
  keepFolds(number, block) {
    const folds = [...block.querySelectorAll("details")].map((it) => it.open);
    if (folds.length) this.folds.set(number, folds);
  }

  /**
   * @param {Chunk} chunk
   * @param {number} number
   */
  drawBlock(chunk, number) {
    while (chunk.place.children.length <= number - chunk.from) chunk.place.append(element("div", { class: "block" }));
    const block = /** @type {HTMLElement} */ (chunk.place.children[number - chunk.from]);
    const hadFocus = block.querySelector("summary") === document.activeElement && document.activeElement !== null;
    if (block.firstChild) this.keepFolds(number, block);
    setRendered(block, this.html[number] ?? "");
    // A reader who has unfolded or folded a call keeps it so.
    const folds = this.folds.get(number);
    block.querySelectorAll("details").forEach((it, at) => {
      it.open = folds?.[at] ?? this.isUnfolded ?? it.open;
    });
    if (hadFocus) block.querySelector("summary")?.focus();
    this.joinCalls(number - 1);
    this.joinCalls(number);
    this.onBlock(block);
  }

  /** Neighbouring calls share a border, also where one is in the next chunk. @param {number} number */
  joinCalls(number) {
    const isCall = (/** @type {number} */ at) => this.html[at]?.startsWith('<details class="tool') ?? false;
    const classes = this.blockAt(number)?.classList;
    classes?.toggle("after-call", isCall(number) && isCall(number - 1));
    classes?.toggle("before-call", isCall(number) && isCall(number + 1));
  }

  /**
   * @param {number} number
   * @param {string} text
   */
  list(number, text) {
    const known = this.entries.get(number);
    const link = known?.firstElementChild ?? element("button", { type: "button", onclick: () => this.goTo(number) });
    link.textContent = text.trim() || "Prompt";
    if (known) return [];
    const entry = element("li", {}, link);
    this.entries.set(number, entry);
    return [entry];
  }

  /** @param {string} html */
  end(html) {
    this.draw();
    const end = element("div", { class: "block end" });
    setRendered(end, html);
    this.place.append(end);
    if (this.follows && this.isAtEnd) this.scrollToEnd();
    this.toEnd.hidden = true;
  }

  noteScroll() {
    this.isAtEnd = this.belowWindow() < 150;
    if (this.isAtEnd) this.toEnd.hidden = true;
    const top = this.topBlock();
    let here;
    for (const [number, entry] of this.entries) {
      if (number > top) break;
      here = entry;
    }
    if (here === this.here) return;
    this.here?.classList.remove("here");
    here?.classList.add("here");
    this.here = here;
  }

  /** The number of the block at the top of the window. */
  topBlock() {
    let top = -1;
    for (const chunk of this.chunks) {
      if (!chunk.isFilled) continue;
      for (const [at, block] of [...chunk.place.children].entries()) {
        const { top: y, height } = block.getBoundingClientRect();
        if (height && y > TOP_PX + 8) return top;
        top = chunk.from + at;
      }
    }
    return top;
  }

  /** How much of the transcript and of what stands below it is below the window, in pixels. */
  belowWindow() {
    // On a wide screen the tray stands beside the text.
    const isWide = matchMedia("(min-width: 64rem)").matches;
    const tray = isWide ? 0 : parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--tray")) || 0;
    const end = this.place.parentElement ?? this.place;
    return end.getBoundingClientRect().bottom + 32 - (innerHeight - tray);
  }

  scrollToEnd() {
    const below = this.belowWindow();
    if (below > 0) scrollBy({ top: below });
    this.isAtEnd = true;
  }

  /**
   * Goes to the block before or behind the top of the window.
   * @param {1 | -1} step
   * @param {Iterable<number>} numbers
   */
  jump(step, numbers) {
    const all = [...numbers].sort((one, other) => one - other);
    const top = this.isTargetShown() ? this.target : this.topBlock();
    const next = step > 0 ? all.find((it) => it > top) : all.findLast((it) => it < top);
    if (next !== undefined) this.goTo(next);
  }

  /**
   * @param {string} arrow
   * @param {string} what
   * @param {string} key
   * @param {1 | -1} step
   */
  jumpButton(arrow, what, key, step) {
    const jump = () => this.jump(step, this.entries.keys());
    return element("button", { type: "button", title: `${what} (${key})`, "aria-label": what, onclick: jump }, arrow);
  }

  /** Whether the block of the last jump is still in the upper half of the window. */
  isTargetShown() {
    const top = this.blockAt(this.target)?.getBoundingClientRect().top;
    return top !== undefined && top > 0 && top < innerHeight / 2;
  }

  /** The element of a block, if it has one. @param {number} number */
  blockAt(number) {
    const chunk = this.chunks[Math.floor(number / CHUNK_BLOCKS)];
    return /** @type {HTMLElement | undefined} */ (chunk?.place.children[number - chunk.from]);
  }

  /** @param {number} number */
  goTo(number) {
    this.fill(this.chunkOf(number));
    this.target = number;
    const block = this.blockAt(number);
    const target = /** @type {HTMLElement | null | undefined} */ (block?.querySelector(".prompt, summary")) ?? block;
    if (!block || !target) return;
    // Chunks between here and there get their elements, and with them their heights: so once more, when they have.
    const place = () => scrollBy({ top: block.getBoundingClientRect().top - TOP_PX });
    place();
    requestAnimationFrame(() => requestAnimationFrame(place));
    if (target.tagName !== "SUMMARY") target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }

  /** Unfolds every call and thought, or folds all if none is folded. */
  foldAll() {
    const all = [...this.place.querySelectorAll("details")];
    this.isUnfolded = all.some((it) => !it.open);
    this.folds.clear();
    for (const it of all) it.open = this.isUnfolded;
  }

  /** The first block whose text has one of the words. @param {string[]} words Lower case. */
  find(words) {
    const has = (/** @type {string} */ html) => {
      const text = decoded(html.replaceAll(/<[^>]*>/g, "")).toLowerCase();
      return words.some((word) => text.includes(word));
    };
    return this.html.findIndex((html) => html !== undefined && has(html));
  }

  /** The shortcuts of a transcript. @returns {import("./keys.js").Shortcut[]} */
  keys() {
    return [
      ["j", "next prompt", () => this.jump(1, this.entries.keys())],
      ["k", "previous prompt", () => this.jump(-1, this.entries.keys())],
      ["e", "next failure", () => this.jump(1, this.failures)],
      ["f", "unfold or fold everything", () => this.foldAll()],
      ["G", "to the end", () => this.scrollToEnd()],
    ];
  }
}

/** The text of markup without tags. It is set as text, never as markup. @param {string} html */
function decoded(html) {
  const entities = /** @type {Record<string, string>} */ ({
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#39;": "'",
    "&amp;": "&",
  });
  return html.replaceAll(/&(lt|gt|quot|#39|amp);/g, (entity) => entities[entity]);
}
