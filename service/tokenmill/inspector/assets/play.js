// @ts-check
/** The playground: an input, and step by step what the parser makes of it. */

import { Asked } from "./asked.js";
import { Cards } from "./cards.js";
import { TestCase } from "./case.js";
import { Check } from "./check.js";
import { Diagrams } from "./diagram.js";
import { button, h } from "./dom.js";
import { EventList } from "./events.js";
import { Input } from "./input.js";
import { Stepper } from "./stepper.js";

/** @import {Run} from "./run.js" */

const OWN_KEYS = "input, textarea, select, .diagram, .strip";

/** A view that can be linked to. */
export class Playground {
  /** @type {Run | null} */
  #run = null;
  cards = new Cards();
  diagrams = new Diagrams();

  /** @param {string} id @param {Choices} choices @param {{changed: () => void, compare: (state: State) => void}} to */
  constructor(id, choices, to) {
    this.choices = choices;
    this.to = to;
    this.input = new Input(id, choices, () => this.#changed());
    this.asked = new Asked(() => this.input.state, (run) => this.#answered(run), () => (this.results.hidden = true));
    this.events = new EventList(`${id}-events`, (made, reveal) => this.#mark(made, reveal));
    this.stepper = new Stepper(id, (step, moved) => this.#stepped(step, moved));
    this.check = new Check(id, () => this.input.state, (cut) => this.input.change({ cuts: [cut] }));
    this.testCase = new TestCase(id, this.input);
    this.results = h("div", { class: "results" },
      h("div", { class: "column" }, section("Parser at this step", this.stepper.facts), section("Answer", this.cards.element)),
      h("div", { class: "column" }, section("Events", this.events.list.box, this.events.detail), section("State diagram", this.diagrams.element)));
    const compare = button("Compare with …", () => to.compare(this.input.state), `${id}-compare`);
    this.element = h("div", { keydown: (event) => this.#key(event) },
      this.input.element, this.asked.problem, h("div", { class: "bar" }, compare, this.check.button), this.check.element,
      this.testCase.element, this.stepper.element, this.asked.status, this.results);
  }

  /** Takes over a state and asks. @param {State} state */
  set(state) {
    this.input.set(state);
    this.#afresh();
    this.asked.now();
  }

  #changed() {
    this.#afresh();
    this.asked.soon();
    this.to.changed();
  }

  /** What was said of another input is forgotten. */
  #afresh() {
    const { codec, formats } = this.input.state;
    this.check.clear();
    this.check.button.hidden = codec !== "";
    this.testCase.update();
    this.diagrams.show(this.choices.formats.filter(({ name }) => formats.includes(name)));
  }

  /** @param {Run} run */
  #answered(run) {
    this.#run = run;
    this.results.hidden = false;
    this.input.answered(run);
    this.stepper.show(run, this.input.state.step);
  }

  /** @param {number} number @param {boolean} moved */
  #stepped(number, moved) {
    const run = /** @type {Run} */ (this.#run);
    const step = run.steps[number - 1];
    this.input.state.step = number === run.steps.length ? 0 : number;
    this.to.changed();
    this.events.show(run.made, step.last, step.first);
    this.cards.show(run, step.last);
    this.diagrams.light(step.mode);
    this.input.strip.paint({ step, held: heldIn(run, step) });
    // A new answer leaves the strip where somebody cuts it.
    if (moved) this.input.strip.reveal(step.start);
  }

  /** @param {Made | null} made @param {boolean} reveal */
  #mark(made, reveal) {
    this.input.strip.paint({ mark: made });
    if (made && reveal) this.input.strip.reveal(made.start);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const free = !event.altKey && !event.ctrlKey && !event.metaKey && !/** @type {Element} */ (event.target).closest(OWN_KEYS);
    if (!by || !free) return;
    event.preventDefault();
    this.stepper.by(by);
  }
}

/** @param {string} title @param {...HTMLElement} content */
function section(title, ...content) {
  return h("section", { "aria-label": title }, h("h2", {}, title), ...content);
}

/** Where the held text is: at the end of what was read. @param {Run} run @param {Step} step */
function heldIn(run, { held, end }) {
  const start = end - [...held].length;
  return held && run.points.slice(start, end) === held ? { start, end } : null;
}
