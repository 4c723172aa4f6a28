// A queue between the transport, which pushes, and the reader of the events, who pulls.

/** Events that may wait before the transport is paused. */
const MOST_WAITING = 1024;

export class EventQueue<T> {
  #items: T[] = [];
  #waiting: { resolve: (item: T | undefined) => void; reject: (error: unknown) => void } | undefined;
  #isOver = false;
  #failure: { error: unknown } | undefined;

  /** `flow(false)` asks the transport to pause, `flow(true)` to go on. */
  constructor(private readonly flow: (isOpen: boolean) => void) {}

  push(item: T): void {
    if (this.#isOver) return;
    if (this.#waiting !== undefined) {
      const { resolve } = this.#waiting;
      this.#waiting = undefined;
      resolve(item);
      return;
    }
    this.#items.push(item);
    if (this.#items.length >= MOST_WAITING) this.flow(false);
  }

  /** No more items come. With an error, the reader gets it after the items. */
  end(failure?: { error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    if (this.#waiting === undefined) return;
    const { resolve, reject } = this.#waiting;
    this.#waiting = undefined;
    if (failure === undefined) {
      resolve(undefined);
    } else {
      this.#failure = undefined;
      reject(failure.error);
    }
  }

  /** The next item; none at the end. */
  next(): Promise<T | undefined> {
    const item = this.#items.shift();
    if (item !== undefined) {
      if (this.#items.length === MOST_WAITING / 2) this.flow(true);
      return Promise.resolve(item);
    }
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined; // once: a second read finds the end
      return Promise.reject(error);
    }
    if (this.#isOver) return Promise.resolve(undefined);
    if (this.#waiting !== undefined) return Promise.reject(new Error("another loop reads these events already"));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}
