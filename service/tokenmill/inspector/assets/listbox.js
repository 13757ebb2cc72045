// @ts-check
/** A list box of any length: pointing, clicks and keys choose a row. */

import { h } from "./dom.js";
import { VirtualList } from "./list.js";

/** @import {Attributes, Child} from "./dom.js" */
/** @typedef {[Attributes, ...Child[]]} Row What is in a row. */

/** Rows of which one is chosen. */
export class ListBox {
  chosen = -1;
  #count = 0;

  /**
   * @param {string} id @param {Attributes} attributes
   * @param {(row: number) => Row} draw @param {(row: number) => void} choose @param {(row: number) => void} [point] told -1 for none
   */
  constructor(id, attributes, draw, choose, point = () => {}) {
    this.id = id;
    this.draw = draw;
    this.chose = choose;
    this.box = h("div", {
      id, role: "listbox", tabindex: 0, ...attributes,
      keydown: (event) => this.#key(event),
      click: (event) => this.#choose(rowOf(event)),
      // Only by keyboard: under a mouse the rows must not move.
      focus: () => this.chosen < 0 && this.box.matches(":focus-visible") && this.#choose(this.#count - 1),
      pointermove: (event) => point(rowOf(event)),
      pointerleave: () => point(-1),
    });
    this.list = new VirtualList(this.box, (row) => this.#row(row));
  }

  /** Shows so many rows; `forget` the one that was chosen. @param {number} count @param {boolean} forget */
  show(count, forget) {
    this.#count = count;
    if (forget) this.chosen = -1;
    if (forget) this.box.removeAttribute("aria-activedescendant");
    this.list.setCount(count);
  }

  /** @param {number} row */
  #row(row) {
    const [attributes, ...children] = this.draw(row);
    return h("div", {
      role: "option", id: `${this.id}-${row}`, "data-row": row, "aria-selected": String(row === this.chosen),
      "aria-setsize": this.#count, "aria-posinset": row + 1, ...attributes,
    }, ...children);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#choose(Math.max(0, Math.min(this.#count - 1, this.chosen + move)));
  }

  /** @param {number} row */
  #choose(row) {
    if (row < 0 || row >= this.#count) return;
    this.chosen = row;
    this.box.setAttribute("aria-activedescendant", `${this.id}-${row}`);
    this.list.reveal(row);
    this.chose(row);
  }
}

/** @param {Event} event */
function rowOf(event) {
  return Number(/** @type {Element} */ (event.target).closest("[data-row]")?.getAttribute("data-row") ?? -1);
}
