// @ts-check
/** What the parser made of a source, at one of its steps: the parser itself, the answer, events, and diagrams. */

import { Cards } from "./cards.js";
import { Diagrams } from "./diagram.js";
import { h } from "./dom.js";
import { EventList } from "./events.js";
import { Stepper } from "./stepper.js";

/** @import {Run} from "./run.js" */
/** @import {Strip} from "./strip.js" */

const OWN_KEYS = "input, textarea, select, .diagram, .strip";

/** The results of a run, beside the strip that shows its source. */
export class Results {
  /** @type {Run | null} */
  #run = null;
  cards = new Cards();
  diagrams = new Diagrams();

  /** @param {string} id @param {Strip} strip @param {(step: number, all: number) => void} stepped */
  constructor(id, strip, stepped) {
    this.strip = strip;
    this.stepped = stepped;
    this.events = new EventList(`${id}-events`, (made, reveal) => this.#mark(made, reveal));
    this.stepper = new Stepper(id, (step, moved) => this.#stepped(step, moved));
    this.element = h("div", { class: "results" },
      h("div", { class: "column" }, section("Parser at this step", this.stepper.facts), section("Answer", this.cards.element)),
      h("div", { class: "column" }, section("Events", this.events.list.box, this.events.detail), section("State diagram", this.diagrams.element)));
  }

  /** Shows a run at a step; 0 is the last. @param {Run} run @param {number} step */
  show(run, step) {
    this.#run = run;
    this.element.hidden = false;
    this.stepper.show(run, step);
  }

  /** Left and right go through the steps, where no field needs them. @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const free = !event.altKey && !event.ctrlKey && !event.metaKey && !/** @type {Element} */ (event.target).closest(OWN_KEYS);
    if (!by || !free) return;
    event.preventDefault();
    this.stepper.by(by);
  }

  /** @param {number} number @param {boolean} moved */
  #stepped(number, moved) {
    const run = /** @type {Run} */ (this.#run);
    const step = run.steps[number - 1];
    this.stepped(number, run.steps.length);
    this.events.show(run.made, step.last, step.first);
    this.cards.show(run, step.last);
    this.diagrams.light(step.mode);
    this.strip.paint({ step, held: heldIn(run, step) });
    // A new answer leaves the strip where somebody cuts it.
    if (moved) this.strip.reveal(step.start);
  }

  /** @param {Made | null} made @param {boolean} reveal */
  #mark(made, reveal) {
    this.strip.paint({ mark: made });
    if (made && reveal) this.strip.reveal(made.start);
  }
}

/** A part of a view under its title. @param {string} title @param {...HTMLElement} content */
export function section(title, ...content) {
  return h("section", { "aria-label": title }, h("h2", {}, title), ...content);
}

/** Where the held text is: at the end of what was read. @param {Run} run @param {Step} step */
function heldIn(run, { held, end }) {
  const start = end - [...held].length;
  return held && run.points.slice(start, end) === held ? { start, end } : null;
}
