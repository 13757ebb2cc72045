// @ts-check
/** Two inputs side by side, and where their events differ. */

import { Asked } from "./asked.js";
import { button, h } from "./dom.js";
import { compared } from "./diff.js";
import { plainly } from "./hidden.js";
import { Input } from "./input.js";
import { JoinedRun } from "./joined.js";
import { VirtualList } from "./list.js";
import { longText } from "./long.js";

/** @typedef {import("./types.js").State} State */

const SHORT = 300;

/** A view that can be linked to. */
export class Compare {
  /** @type {import("./diff.js").Pair[]} */
  #pairs = [];
  #chosen = -1;

  /**
   * @param {string} id @param {import("./types.js").Choices} choices @param {() => void} changed
   */
  constructor(id, choices, changed) {
    this.id = id;
    this.left = new Side(`${id}-a`, "A", choices, changed, () => this.#draw());
    this.right = new Side(`${id}-b`, "B", choices, changed, () => this.#draw());
    this.said = h("p", { role: "status", "data-testid": "compared" });
    this.box = h("div", {
      class: "compared", role: "listbox", tabindex: 0, "aria-label": "Events of A and B", id: `${id}-rows`,
      keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      click: (/** @type {MouseEvent} */ event) => this.#choose(rowOf(event)),
    });
    this.detail = h("div", { class: "two", "data-testid": "compare-detail" });
    this.list = new VirtualList(this.box, (row) => this.#row(row));
    const same = button("Same text in B as in A", () => this.#copy(), { id: `${id}-copy` });
    this.element = h("div", { class: "compare" }, h("div", { class: "two" }, this.left.element, this.right.element),
      h("div", { class: "bar" }, same), this.said, this.box, this.detail);
  }

  /**
   * Takes over two states and asks.
   * @param {State} left @param {State} right
   */
  set(left, right) {
    this.left.set(left);
    this.right.set(right);
  }

  #copy() {
    const { formats, cuts, chunk } = this.right.input.state;
    this.right.set({ ...this.left.input.state, formats, cuts, chunk });
    this.left.changed();
  }

  #draw() {
    if (!this.left.lines || !this.right.lines) return;
    this.#pairs = compared(this.left.lines, this.right.lines);
    const other = this.#pairs.filter(({ same }) => !same).length;
    const all = this.#pairs.length.toLocaleString("en");
    this.said.textContent = other ? `${other.toLocaleString("en")} of ${all} rows differ.` : `All ${all} rows are the same.`;
    this.#chosen = -1;
    this.box.removeAttribute("aria-activedescendant");
    this.detail.replaceChildren();
    this.list.setCount(this.#pairs.length);
  }

  /** @param {number} row */
  #row(row) {
    const { left, right, same } = /** @type {import("./diff.js").Pair} */ (this.#pairs[row]);
    return h("div", {
      class: `pair-row ${same ? "" : "differs"}`, role: "option", id: `${this.id}-row-${row}`, "data-row": row,
      "data-testid": "compared-row", "data-same": String(same), "aria-selected": String(row === this.#chosen),
      "aria-setsize": this.#pairs.length, "aria-posinset": row + 1,
    }, h("span", { class: "sign" }, same ? "=" : "≠"), cell(this.left.lines?.[left], "A"), cell(this.right.lines?.[right], "B"));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (move === undefined) return;
    event.preventDefault();
    this.#choose(Math.max(0, Math.min(this.#pairs.length - 1, this.#chosen + move)));
  }

  /** @param {number} row */
  #choose(row) {
    const pair = this.#pairs[row];
    if (!pair) return;
    this.#chosen = row;
    this.box.setAttribute("aria-activedescendant", `${this.id}-row-${row}`);
    this.list.reveal(row);
    this.detail.replaceChildren(whole("A", this.left.lines?.[pair.left]), whole("B", this.right.lines?.[pair.right]));
  }
}

/** One of the two: an input and its joined events. */
class Side {
  /** Null as long as there is no answer. @type {string[] | null} */
  lines = null;

  /**
   * @param {string} id @param {string} name @param {import("./types.js").Choices} choices
   * @param {() => void} changed @param {() => void} answered
   */
  constructor(id, name, choices, changed, answered) {
    this.changed = changed;
    this.input = new Input(id, choices, () => {
      this.asked.soon();
      changed();
    });
    this.asked = new Asked(() => this.input.state, (run) => {
      this.input.answered(run);
      this.lines = /** @type {JoinedRun} */ (run).lines();
      answered();
    }, () => (this.lines = null), JoinedRun);
    this.element = h("section", { "aria-label": name }, h("h3", {}, name), this.input.element, this.asked.problem, this.asked.status);
  }

  /** @param {State} state */
  set(state) {
    this.input.set(state);
    this.asked.now();
  }
}

/** @param {string | undefined} line @param {string} side */
function cell(line, side) {
  return h("span", { class: `cell ${line === undefined ? "none" : ""}`, "data-side": side }, line === undefined ? "none" : plainly(line.slice(0, SHORT)));
}

/** @param {string} name @param {string | undefined} line */
function whole(name, line) {
  return h("div", {}, h("h4", {}, name), line === undefined ? h("p", { class: "hint" }, "No such event.") : longText(JSON.stringify(JSON.parse(line), null, 2), "code"));
}

/** @param {Event} event */
function rowOf(event) {
  const row = /** @type {Element} */ (event.target).closest("[data-row]");
  return row ? Number(row.getAttribute("data-row")) : -1;
}
