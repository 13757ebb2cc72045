// @ts-check
/** The playground: an input, and step by step what the parser makes of it. */

import { Asked } from "./asked.js";
import { Cards } from "./cards.js";
import { copy, TestCase } from "./case.js";
import { Check } from "./check.js";
import { Diagrams } from "./diagram.js";
import { button, h } from "./dom.js";
import { EventList } from "./events.js";
import { Input } from "./input.js";
import { Stepper } from "./stepper.js";

const OWN_KEYS = "input, textarea, select, [role=slider], [role=tab], .diagram, .strip";

/** A view that can be linked to. */
export class Playground {
  /** @type {import("./run.js").Run | null} */
  #run = null;

  /**
   * @param {string} id @param {import("./types.js").Choices} choices
   * @param {{changed: () => void, compare: (state: import("./types.js").State) => void}} to
   */
  constructor(id, choices, to) {
    this.choices = choices;
    this.to = to;
    this.input = new Input(id, choices, () => this.#changed());
    this.asked = new Asked(() => this.input.state, (run) => this.#answered(run), () => (this.results.hidden = true));
    this.events = new EventList(`${id}-events`, (made, reveal) => this.#mark(made, reveal));
    this.stepper = new Stepper(id, (step, moved) => this.#stepped(step, moved));
    this.cards = new Cards();
    this.diagrams = new Diagrams();
    this.check = new Check(id, () => this.input.state, (cut) => this.#cutAt(cut));
    this.testCase = new TestCase(id, () => this.input);
    this.results = this.#results();
    this.element = this.#layout(id);
  }

  /**
   * Takes over a state and asks.
   * @param {import("./types.js").State} state
   */
  set(state) {
    this.input.set(state);
    this.#afresh();
    this.asked.now();
  }

  /** @param {string} id */
  #layout(id) {
    const said = h("span", { role: "status" });
    const link = button("Copy link", async () => {
      said.textContent = (await copy(location.href)) ? "Copied." : "The link is in the address bar.";
    }, { id: `${id}-link` });
    const compare = button("Compare with …", () => this.to.compare(this.input.state), { id: `${id}-compare` });
    return h("div", { class: "play", keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) },
      this.input.element, this.asked.problem, h("div", { class: "bar" }, link, compare, this.check.button, said), this.check.element,
      this.testCase.element, this.stepper.element, this.asked.status, this.results);
  }

  #results() {
    return h("div", { class: "results" },
      h("div", { class: "column" }, section("Parser at this step", this.stepper.facts), section("Answer", this.cards.element)),
      h("div", { class: "column" }, section("Events", this.events.box, this.events.detail), section("State diagram", this.diagrams.element)));
  }

  #changed() {
    this.#afresh();
    this.asked.soon();
    this.to.changed();
  }

  /** What was said of another input is forgotten. */
  #afresh() {
    this.check.clear();
    this.check.button.hidden = this.input.state.codec !== "";
    this.testCase.update();
    const { formats } = this.input.state;
    this.diagrams.show(this.choices.formats.filter(({ name }) => formats.includes(name)));
  }

  /** @param {import("./run.js").Run} run */
  #answered(run) {
    this.#run = run;
    this.results.hidden = false;
    this.input.answered(run);
    this.stepper.show(run, this.input.state.step);
  }

  /** @param {number} number @param {boolean} moved */
  #stepped(number, moved) {
    const run = this.#run;
    const step = run?.steps[number - 1];
    if (!run || !step) return;
    this.input.state.step = number === run.steps.length ? 0 : number;
    this.to.changed();
    this.events.show(run.made, step.last, step.first);
    this.cards.show(run, step.last);
    this.diagrams.light(step.mode);
    this.input.strip.paint({ step, held: heldIn(run, step) });
    // A new answer leaves the strip where somebody works on its cuts.
    if (moved) this.input.strip.reveal(step.start);
  }

  /** @param {import("./types.js").Made | null} made @param {boolean} reveal */
  #mark(made, reveal) {
    this.input.strip.paint({ mark: made });
    if (made && reveal) this.input.strip.reveal(made.start);
  }

  /** @param {number} cut */
  #cutAt(cut) {
    this.set({ ...this.input.state, cuts: [cut], chunk: 0, step: 0 });
    this.to.changed();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const target = /** @type {Element} */ (event.target);
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || target.closest(OWN_KEYS)) return;
    event.preventDefault();
    this.stepper.by(by);
  }
}

/** @param {string} title @param {...HTMLElement} content */
function section(title, ...content) {
  return h("section", { "aria-label": title }, h("h3", {}, title), ...content);
}

/**
 * Where the held text is: the end of what was read, if that is what it says.
 * @param {import("./run.js").Run} run @param {import("./types.js").Step} step
 */
function heldIn(run, step) {
  if (!step.held) return null;
  const start = step.end - [...step.held].length;
  return run.points.slice(start, step.end) === step.held ? { start, end: step.end } : null;
}
