// Lines of a byte stream. Not `node:readline`: it also ends lines at U+2028 and U+2029, which JSON strings may contain.
import { LapidaryError } from "./errors.js";

const NEWLINE = 0x0a;

/** Collects bytes, and gives each line once it is complete. */
export class LineSplitter {
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly longest: number) {}

  /** The lines that these bytes complete. */
  *push(bytes: Buffer): Generator<string> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#keep(bytes.subarray(start, end));
      start = end + 1;
      yield this.#take();
    }
    this.#keep(bytes.subarray(start));
  }

  /** The last line, if it has no newline. */
  *end(): Generator<string> {
    if (this.#bytes > 0) yield this.#take();
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > this.longest) {
      throw new LapidaryError(
        "line_too_long",
        `a line has more than ${this.longest} bytes`,
        "raise `maxLineBytes`, or leave out `raw: true`",
      );
    }
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#bytes = 0;
    return line;
  }
}
