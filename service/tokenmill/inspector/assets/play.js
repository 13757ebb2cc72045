// @ts-check
/** The playground: an input, and step by step what the parser makes of it. */

import { Asked } from "./asked.js";
import { TestCase } from "./case.js";
import { Check } from "./check.js";
import { button, h } from "./dom.js";
import { Input } from "./input.js";
import { Results } from "./results.js";

/** A view that can be linked to. */
export class Playground {
  /** @param {string} id @param {Choices} choices @param {{changed: () => void, compare: (state: State) => void}} to */
  constructor(id, choices, to) {
    this.choices = choices;
    this.to = to;
    this.input = new Input(id, choices, () => this.#changed());
    this.results = new Results(id, this.input.strip, (step, all) => this.#stepped(step, all));
    this.asked = new Asked(() => this.input.state, (run) => this.#answered(run), () => (this.results.element.hidden = true));
    this.check = new Check(id, () => this.input.state, (cut) => this.input.change({ cuts: [cut] }));
    this.testCase = new TestCase(id, this.input);
    const compare = button("Compare with …", () => to.compare(this.input.state), `${id}-compare`);
    this.element = h("div", { keydown: (event) => this.results.key(event) },
      this.input.element, this.asked.problem, h("div", { class: "bar" }, compare, this.check.button), this.check.element,
      this.testCase.element, this.results.stepper.element, this.asked.status, this.results.element);
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
    this.results.diagrams.show(this.choices.formats.filter(({ name }) => formats.includes(name)));
  }

  /** @param {import("./run.js").Run} run */
  #answered(run) {
    this.input.answered(run);
    this.results.show(run, this.input.state.step);
  }

  /** @param {number} step @param {number} all */
  #stepped(step, all) {
    this.input.state.step = step === all ? 0 : step;
    this.to.changed();
  }
}
