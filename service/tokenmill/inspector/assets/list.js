// @ts-check
/** A list of which only the rows in sight are in the page. `--row` of the style is their height. */

import { h, perFrame } from "./dom.js";

const SPARE = 2;

/** Rows by number inside of an element that scrolls. */
export class VirtualList {
  #count = 0;
  #height = 28;
  #window = h("div", { role: "presentation" });
  #space = h("div", { class: "space", role: "presentation" }, this.#window);

  /**
   * @param {HTMLElement} viewport @param {(row: number) => HTMLElement} render
   * @param {() => void} [refocus] called where the focus was in a row
   */
  constructor(viewport, render, refocus) {
    this.viewport = viewport;
    this.render = render;
    this.refocus = refocus;
    /** Draws the rows in sight again, in the next frame. */
    this.refresh = perFrame(() => this.draw());
    viewport.append(this.#space);
    viewport.addEventListener("scroll", this.refresh, { passive: true });
    new ResizeObserver(this.refresh).observe(viewport);
  }

  /** How many rows there are. @param {number} count */
  setCount(count) {
    this.#count = count;
    this.#measure();
    this.refresh();
  }

  #measure() {
    this.#height = parseFloat(getComputedStyle(this.viewport).getPropertyValue("--row")) || 28;
    this.#space.style.height = `${this.#count * this.#height}px`;
  }

  /** Draws the rows in sight now. */
  draw() {
    this.#measure();
    const { scrollTop, clientHeight } = this.viewport;
    const first = Math.max(0, Math.floor(scrollTop / this.#height) - SPARE);
    const last = Math.min(this.#count, Math.ceil((scrollTop + clientHeight) / this.#height) + SPARE);
    const rows = [];
    for (let row = first; row < last; row++) rows.push(this.render(row));
    const focus = this.#window.contains(document.activeElement);
    this.#window.style.transform = `translateY(${first * this.#height}px)`;
    this.#window.replaceChildren(...rows);
    if (focus) this.refocus?.();
  }

  /** Scrolls no further than it has to, so that a row is in sight. @param {number} row */
  reveal(row) {
    this.#measure();
    const { scrollTop, clientHeight } = this.viewport;
    const top = row * this.#height;
    if (top < scrollTop) this.viewport.scrollTop = top;
    else if (top + this.#height > scrollTop + clientHeight) this.viewport.scrollTop = top + this.#height - clientHeight;
    this.refresh();
  }
}
