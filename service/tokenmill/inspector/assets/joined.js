// @ts-check
/** Events with neighbouring deltas joined, as lines of JSON: what stays the same however the text is cut. */

import { Run } from "./run.js";

const OF_A_RUN = ["seq", "time", "conversation_id", "message_id"];

/** A run that joins its events as they come, so that a long one is not joined in one go. */
export class JoinedRun extends Run {
  /** @type {string[]} */
  #lines = [];
  /** @type {NativeEvent | null} */
  #last = null;
  /** @type {unknown[]} */
  #deltas = [];

  /** More steps and events. @override @param {Batch} batch */
  add(batch) {
    super.add(batch);
    for (const { event } of batch.made) {
      if (!this.#last || !alike(event, this.#last)) {
        this.#end();
        this.#last = event;
      }
      this.#deltas.push(event.delta);
    }
  }

  /** The lines of all events. */
  lines() {
    this.#end();
    return this.#lines;
  }

  #end() {
    if (!this.#last) return;
    const event = Object.fromEntries(Object.entries(this.#last).filter(([name]) => !OF_A_RUN.includes(name)));
    if ("delta" in event) event.delta = this.#deltas.join("");
    this.#lines.push(JSON.stringify(event));
    this.#last = null;
    this.#deltas = [];
  }
}

/** @param {NativeEvent} one @param {NativeEvent} other */
function alike(one, other) {
  return "delta" in one && ["type", "id", "argument", "choice"].every((name) => one[name] === other[name]);
}
