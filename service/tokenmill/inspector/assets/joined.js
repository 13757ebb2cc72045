// @ts-check
/** Events with neighbouring deltas joined, as lines of JSON: what stays the same however the text is cut. */

const OF_A_RUN = new Set(["seq", "time", "conversation_id", "message_id"]);

/** Lines that grow with each batch of events. */
export class Joined {
  /** @type {string[]} */
  lines = [];
  /** @type {import("./types.js").Event | null} */
  #last = null;
  /** @type {string[]} */
  #deltas = [];

  /** @param {import("./types.js").Event} event */
  add(event) {
    if (this.#last && typeof event.delta === "string" && keyOf(event) === keyOf(this.#last)) {
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

/** @param {import("./types.js").Event} event */
function keyOf({ type, choice, id, argument }) {
  return [type, choice, id, argument].join("\n");
}
