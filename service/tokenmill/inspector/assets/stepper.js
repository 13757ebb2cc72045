// @ts-check
/** Goes through the steps of a run, and says of each what it brought and what the parser holds. */

import { button, h, labelled } from "./dom.js";
import { plainly } from "./hidden.js";
import { longText } from "./long.js";

/** @typedef {import("./run.js").Run} Run */

const PAYLOADS = 20;

/** A slider with buttons, and the facts of a step. */
export class Stepper {
  /** @type {Run | null} */
  #run = null;
  #step = 0;

  /**
   * @param {string} id @param {(step: number, moved: boolean) => void} changed told the number of the step, from 1, and
   *   whether somebody went there
   */
  constructor(id, changed) {
    this.changed = changed;
    this.range = h("input", { type: "range", id: `${id}-step`, min: 1, max: 1, value: 1, input: () => this.go(this.range.valueAsNumber) });
    this.previous = button("Previous", () => this.go(this.#step - 1), { id: `${id}-previous` });
    this.next = button("Next", () => this.go(this.#step + 1), { id: `${id}-next` });
    this.where = h("output", { for: `${id}-step`, class: "where", "aria-live": "off", "data-testid": "step" });
    this.facts = h("dl", { class: "facts", "data-testid": "facts" });
    this.element = h("div", { class: "bar stepper", role: "group", "aria-label": "Steps" },
      this.previous, labelled("Step", this.range), this.next, this.where);
  }

  /**
   * Another run, at one of its steps; 0 is the last.
   * @param {Run} run @param {number} step
   */
  show(run, step) {
    this.#run = run;
    this.range.max = String(Math.max(1, run.steps.length));
    this.#step = 0;
    this.go(step || run.steps.length, false);
  }

  /**
   * Goes by so many steps.
   * @param {number} steps
   */
  by(steps) {
    this.go(this.#step + steps);
  }

  /**
   * Goes to a step, as far as there are steps.
   * @param {number} step @param {boolean} [moved]
   */
  go(step, moved = true) {
    if (!this.#run) return;
    const count = this.#run.steps.length;
    const to = Math.max(Math.min(1, count), Math.min(step, count));
    if (to === this.#step) return;
    this.#step = to;
    this.#draw(this.#run, count);
    this.changed(to, moved);
  }

  /** @param {Run} run @param {number} count */
  #draw(run, count) {
    const step = run.steps[this.#step - 1];
    this.range.value = String(this.#step);
    this.where.textContent = `${this.#step} of ${count}`;
    this.#able(this.previous, this.#step > 1);
    this.#able(this.next, this.#step < count);
    if (!step) return this.facts.replaceChildren();
    const made = step.last - step.first;
    this.range.setAttribute("aria-valuetext", `step ${this.#step} of ${count}: ${step.kind}, ${made} events, mode ${step.mode}`);
    this.facts.replaceChildren(...facts(run, step));
  }

  /**
   * A button at its end keeps the focus, so that the keyboard is not thrown off.
   * @param {HTMLButtonElement} button @param {boolean} able
   */
  #able(button, able) {
    button.setAttribute("aria-disabled", able ? "false" : "true");
  }
}

/** @param {Run} run @param {import("./types.js").Step} step */
function facts(run, step) {
  const made = run.made.slice(step.first, step.last);
  const payloads = made.flatMap((each) => each.payloads);
  const rows = [
    fact("piece", "Piece", longText(run.points.slice(step.start, step.end), "code"), `${step.kind}, characters ${step.start} to ${step.end}`),
    fact("made", "Events made", made.length.toLocaleString("en")),
    fact("held", "Held text", step.held ? longText(step.held, "code") : "nothing", step.held && "It can still become a marker."),
    fact("pending", "Pending framing", step.pending ? longText(step.pending, "code") : "nothing"),
    fact("mode", "Mode", plainly(step.mode || "none")),
    fact("bytes", "State", `${step.bytes.toLocaleString("en")} bytes`),
  ];
  if (payloads.length) rows.push(fact("payloads", "Payloads", payloadsOf(payloads)));
  return rows;
}

/** @param {string} name @param {string} title @param {Node | string} value @param {string} [note] */
function fact(name, title, value, note) {
  return h("div", { class: `fact ${name}` }, h("dt", {}, title), h("dd", { "data-testid": name }, value), note && h("dd", { class: "hint" }, note));
}

/** @param {string[]} payloads */
function payloadsOf(payloads) {
  const left = payloads.length - PAYLOADS;
  return h("div", {}, ...payloads.slice(0, PAYLOADS).map((text) => longText(text, "code")),
    left > 0 && h("p", { class: "hint" }, `and ${left.toLocaleString("en")} more; each event shows its own.`));
}
