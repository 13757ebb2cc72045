// @ts-check
/** Two inputs side by side, and where their events differ. */

import { Asked } from "./asked.js";
import { h } from "./dom.js";
import { compared } from "./diff.js";
import { plainly } from "./hidden.js";
import { Input } from "./input.js";
import { JoinedRun } from "./joined.js";
import { parse } from "./json.js";
import { ListBox } from "./listbox.js";
import { longText } from "./long.js";

/** A view that can be linked to. */
export class Compare {
  /** @type {import("./diff.js").Pair[]} */
  #pairs = [];

  /** @param {string} id @param {Choices} choices @param {() => void} changed */
  constructor(id, choices, changed) {
    this.left = new Side(`${id}-a`, "A", choices, changed, () => this.#draw());
    this.right = new Side(`${id}-b`, "B", choices, changed, () => this.#draw());
    this.said = h("p", { role: "status", "data-testid": "compared" });
    this.rows = new ListBox(`${id}-rows`, { class: "compared", "aria-label": "Events of A and B" }, (row) => this.#row(row), (row) => this.#choose(row));
    this.detail = h("div", { class: "two", "data-testid": "compare-detail" });
    this.element = h("div", {}, h("div", { class: "two" }, this.left.element, this.right.element),
      this.said, this.rows.box, this.detail);
  }

  /** Takes over two states and asks. @param {State} left @param {State} right */
  set(left, right) {
    this.left.set(left);
    this.right.set(right);
  }

  #draw() {
    const [left, right] = [this.left.lines, this.right.lines];
    this.#pairs = left && right ? compared(left, right) : [];
    const other = this.#pairs.filter(({ same }) => !same).length;
    this.said.textContent = left && right ? `${other} of ${this.#pairs.length} rows differ.` : "";
    this.detail.replaceChildren();
    this.rows.show(this.#pairs.length, true);
  }

  /** @param {number} row @returns {string[]} */
  #lines(row) {
    const { left, right } = this.#pairs[row];
    return [this.left.lines?.[left] ?? "", this.right.lines?.[right] ?? ""];
  }

  /** @param {number} row @returns {import("./listbox.js").Row} */
  #row(row) {
    const { same } = this.#pairs[row];
    const cells = this.#lines(row).map((line) => h("span", { class: line ? "cell" : "cell none" }, plainly(line.slice(0, 300)) || "none"));
    const attributes = { class: same ? "pair-row" : "pair-row differs", "data-testid": "compared-row", "data-same": String(same) };
    return [attributes, h("span", { class: "sign" }, same ? "=" : "≠"), ...cells];
  }

  /** @param {number} row */
  #choose(row) {
    const whole = (/** @type {string} */ line) => (line ? longText(JSON.stringify(parse(line), null, 2), "code") : h("p", {}, "none"));
    this.detail.replaceChildren(...this.#lines(row).map(whole));
  }
}

/** One of the two: an input and its joined events. */
class Side {
  /** Null as long as there is no answer. @type {string[] | null} */
  lines = null;

  /**
   * @param {string} id @param {string} name @param {Choices} choices
   * @param {() => void} changed @param {() => void} draw
   */
  constructor(id, name, choices, changed, draw) {
    this.input = new Input(id, choices, () => (this.asked.soon(), changed()));
    this.asked = new Asked(() => this.input.state, (run) => {
      this.input.answered(run);
      this.lines = /** @type {JoinedRun} */ (run).lines();
      draw();
    }, () => ((this.lines = null), draw()), JoinedRun);
    this.element = h("section", { "aria-label": name }, h("h2", {}, name), this.input.element, this.asked.problem, this.asked.status);
  }

  /** Takes over a state and asks. @param {State} state */
  set(state) {
    this.input.set(state);
    this.asked.now();
  }
}
