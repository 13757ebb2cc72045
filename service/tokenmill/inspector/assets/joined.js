// @ts-check
/** Events with neighbouring deltas joined, as lines of JSON: what stays the same however the text is cut. */

import { Run } from "./run.js";

const OF_A_RUN = new Set(["seq", "time", "conversation_id", "message_id"]);

/** Lines that grow with each event. */
class Joined {
  /** @type {string[]} */
  lines = [];
  /** @type {import("./types.js").Event | null} */
  #last = null;
  /** @type {string[]} */
  #deltas = [];

  /** @param {import("./types.js").Event} event */
  add(event) {
    if (this.#last && typeof event.delta === "string" && alike(event, this.#last)) {
      this.#deltas.push(event.delta);
      return;
    }
    this.end();
    this.#last = event;
    this.#deltas = typeof event.delta === "string" ? [event.delta] : [];
  }

  /** Nothing follows. */
  end() {
    if (!this.#last) return;
    const fields = Object.entries(this.#last).filter(([name]) => !OF_A_RUN.has(name));
    const event = Object.fromEntries(fields);
    if (this.#deltas.length) event.delta = this.#deltas.join("");
    this.lines.push(JSON.stringify(event));
    this.#last = null;
  }
}

/** @param {import("./types.js").Event} one @param {import("./types.js").Event} other */
function alike(one, other) {
  return one.type === other.type && one.id === other.id && one.argument === other.argument && one.choice === other.choice;
}

/** A run that joins its events as they come, so that a long one is not joined in one go. */
export class JoinedRun extends Run {
  #joined = new Joined();

  /** @override @param {import("./types.js").Batch} batch */
  add(batch) {
    super.add(batch);
    for (const { event } of batch.made) this.#joined.add(event);
  }

  /** The lines of all events. */
  lines() {
    this.#joined.end();
    return this.#joined.lines;
  }
}
