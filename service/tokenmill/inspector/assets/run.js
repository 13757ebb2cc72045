// @ts-check
/** One answer of the parser: its steps, its events in one list, and the blocks that they make. */

import { Blocks } from "./blocks.js";
import { Points } from "./points.js";

/** What the parser made of a source. It is filled in batches. */
export class Run {
  /** @type {import("./types.js").Step[]} */
  steps = [];
  /** @type {import("./types.js").Made[]} */
  made = [];
  blocks = new Blocks();

  /** @param {import("./types.js").Head} head */
  constructor({ source, prompt, rejected }) {
    this.points = new Points(source);
    this.prompt = prompt;
    this.rejected = rejected;
  }

  /**
   * More steps and events.
   * @param {import("./types.js").Batch} batch
   */
  add({ steps, made }) {
    for (const step of steps) this.steps.push(step);
    for (const each of made) {
      this.blocks.add(this.made.length, each.event);
      this.made.push(each);
    }
  }

  /** Where pieces end, as positions in the source. */
  ends() {
    return [...new Set(this.steps.map((step) => step.end))].filter((end) => end > 0 && end < this.points.length);
  }
}
