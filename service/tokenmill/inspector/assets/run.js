// @ts-check
/** One answer of the parser: its steps, its events in one list, and the blocks that they make. */

import { Blocks } from "./blocks.js";
import { Points } from "./points.js";

/** What the parser made of a source. It is filled in batches. */
export class Run {
  /** @type {Step[]} */
  steps = [];
  /** @type {Made[]} */
  made = [];
  blocks = new Blocks();
  points = new Points("");

  /** @param {Head} head */
  constructor({ prompt, rejected }) {
    this.prompt = prompt;
    this.rejected = rejected;
  }

  /** More steps and events. @param {Batch} batch */
  add({ steps, made }) {
    for (const step of steps) {
      this.points.add(step.source);
      this.steps.push(step);
    }
    for (const each of made) this.blocks.add(this.made.push(each) - 1, each.event);
  }

  /** Where pieces end, as positions behind the prompt. */
  ends() {
    return [...new Set(this.steps.map(({ end }) => end - this.prompt))].filter((end) => end > 0);
  }
}
