// @ts-check
/** Goes through the steps of a run, and says of each what it brought and what the parser holds. */

import { button, count, h, labelled } from "./dom.js";
import { plainly } from "./hidden.js";
import { longText } from "./long.js";

/** @import {Run} from "./run.js" */

/** A slider with buttons, and the facts of a step. */
export class Stepper {
  /** @type {Run | null} */
  #run = null;
  #step = 0;

  /** @param {string} id @param {(step: number, moved: boolean) => void} changed told if somebody went there */
  constructor(id, changed) {
    this.changed = changed;
    this.range = h("input", { type: "range", id: `${id}-step`, min: 1, input: () => this.#go(this.range.valueAsNumber, true) });
    this.previous = button("Previous", () => this.by(-1), `${id}-previous`);
    this.next = button("Next", () => this.by(1), `${id}-next`);
    this.where = h("span", { class: "where", "data-testid": "step" });
    this.facts = h("dl", { class: "facts" });
    this.element = h("div", { class: "bar stepper", role: "group", "aria-label": "Steps" },
      this.previous, labelled("Step", this.range), this.next, this.where);
  }

  /** Another run, at one of its steps; 0 is the last. @param {Run} run @param {number} step */
  show(run, step) {
    this.#run = run;
    this.#step = 0;
    this.range.max = String(run.steps.length);
    this.#go(step || run.steps.length, false);
  }

  /** The run has grown; at its end, and unless it is `held`, one goes along. @param {boolean} held */
  grow(held) {
    const all = this.#run?.steps.length ?? 0;
    const along = !held && this.#step === Number(this.range.max);
    this.range.max = String(all);
    if (along || !this.#step) this.#go(all, false);
    else if (this.#run && all) this.#say(this.#run, all);
  }

  /** Goes by so many steps. @param {number} steps */
  by(steps) {
    this.#go(this.#step + steps, true);
  }

  /** @param {number} step @param {boolean} moved */
  #go(step, moved) {
    const all = this.#run?.steps.length ?? 0;
    const to = Math.max(1, Math.min(step, all));
    if (!this.#run || !all || to === this.#step) return;
    this.#step = to;
    this.#draw(this.#run, to, all);
    this.changed(to, moved);
  }

  /** @param {Run} run @param {number} number @param {number} all */
  #draw(run, number, all) {
    this.range.value = String(number);
    this.#say(run, all);
    this.facts.replaceChildren(...facts(run, run.steps[number - 1]));
  }

  /** @param {Run} run @param {number} all */
  #say(run, all) {
    const number = this.#step;
    const step = run.steps[number - 1];
    this.where.textContent = `${number} of ${all}`;
    // Buttons at an end keep the focus, so that the keyboard is not thrown off.
    this.previous.setAttribute("aria-disabled", String(number === 1));
    this.next.setAttribute("aria-disabled", String(number === all));
    this.range.setAttribute("aria-valuetext", `${number} of ${all}: ${step.kind}, ${count(step.last - step.first, "event")}, mode ${step.mode}`);
  }
}

/** @param {Run} run @param {Step} step */
function facts(run, step) {
  const payloads = run.made.slice(step.first, step.last).flatMap((each) => each.payloads);
  return [
    fact("piece", "Piece", code(run.points.slice(step.start, step.end)), `${step.kind}, characters ${step.start} to ${step.end}`),
    fact("made", "Events made", (step.last - step.first).toLocaleString("en")),
    fact("held", "Held text", code(step.held), step.held && "It can still become a marker."),
    fact("pending", "Pending framing", code(step.pending)),
    fact("mode", "Mode", plainly(step.mode)),
    fact("bytes", "State", count(step.bytes, "byte")),
    payloads.length ? fact("payloads", "Payloads", payloadsOf(payloads)) : "",
  ];
}

/** @param {string} text */
function code(text) {
  return text ? longText(text, "code") : "nothing";
}

/** @param {string} name @param {string} title @param {Node | string} value @param {string} [note] */
function fact(name, title, value, note) {
  return h("div", { class: `fact ${name}` }, h("dt", {}, title), h("dd", { "data-testid": name }, value), note && h("dd", { class: "hint" }, note));
}

/** @param {string[]} payloads */
function payloadsOf(payloads) {
  return h("div", {}, ...payloads.slice(0, 20).map(code), payloads.length > 20 && `and ${payloads.length - 20} more`);
}
