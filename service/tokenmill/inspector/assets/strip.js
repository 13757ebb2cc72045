// @ts-check
/** The source strip: all that the parser read, with the cuts as handles, the step and the chosen event marked. */

import { inOrder, moved } from "./cuts.js";
import { h } from "./dom.js";
import { escapeOf, plainly } from "./hidden.js";
import { VirtualList } from "./list.js";
import { Points } from "./points.js";
import { positionAt } from "./position.js";
import { lastUpTo, rowStarts } from "./rows.js";

/** @typedef {{start: number, end: number}} Range */
/** @typedef {{step?: Range | null, held?: Range | null, mark?: Range | null}} Paint */

const KEYS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
const SLACK = 28;
// With more cuts than this, only the one that the keyboard is at is described: a thousand sliders are slow, and of no use.
const FEW = 100;

/** A strip of text in rows. Positions are code points of the source; the prompt's end is in front of the text. */
export class Strip {
  #points = new Points("");
  #starts = [0];
  #prompt = 0;
  /** @type {number[]} */
  #cuts = [];
  #editable = true;
  #current = 0;
  #dragging = false;
  #dragged = false;
  /** @type {Paint} */
  #paint = {};

  /**
   * @param {string} id
   * @param {(cuts: number[]) => void} changed told the cuts, as positions in the text
   */
  constructor(id, changed) {
    this.changed = changed;
    this.box = h("div", {
      class: "strip", id, role: "group", tabindex: 0, "aria-label": "Source strip", "aria-describedby": `${id}-keys`,
      "data-testid": "strip",
      keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      pointerdown: (/** @type {PointerEvent} */ event) => this.#press(event),
      pointermove: (/** @type {PointerEvent} */ event) => this.#drag(event),
      pointerup: () => this.#release(),
      pointercancel: () => this.#release(),
      click: (/** @type {MouseEvent} */ event) => this.#click(event),
    });
    this.ruler = h("span", {}, "0".repeat(100));
    this.keys = h("p", { class: "hint", id: `${id}-keys` },
      "Click between characters to cut. On a cut: left and right move it, up and down go to the next one, Delete removes it.");
    this.element = h("div", {}, h("div", { class: "ruler", "aria-hidden": "true" }, this.ruler), this.box, this.keys);
    this.list = new VirtualList(this.box, (row) => this.#row(row), (focus) => this.#refocus(focus));
    new ResizeObserver(() => this.#wrap()).observe(this.box);
  }

  /**
   * Another source; `prompt` characters in front are not the text's.
   * @param {Points} points @param {number} prompt @param {boolean} editable
   */
  setText(points, prompt, editable) {
    const same = points.text === this.#points.text;
    this.#points = points;
    this.#prompt = prompt;
    this.#editable = editable;
    this.keys.hidden = !editable;
    this.box.classList.toggle("editable", editable);
    if (!same) this.#wrap();
    this.list.refresh();
  }

  /**
   * Other cuts, as positions in the text.
   * @param {number[]} cuts
   */
  setCuts(cuts) {
    this.#cuts = cuts;
    this.#current = Math.max(0, Math.min(this.#current, cuts.length - 1));
    this.list.refresh();
  }

  /**
   * Marks a step, what it holds back, and what made an event.
   * @param {Paint} paint
   */
  paint(paint) {
    this.#paint = { ...this.#paint, ...paint };
    this.list.refresh();
  }

  /**
   * Scrolls to a position.
   * @param {number} position
   */
  reveal(position) {
    this.list.reveal(lastUpTo(this.#starts, position));
  }

  #wrap() {
    const width = this.ruler.getBoundingClientRect().width / 100 || 8;
    const columns = Math.max(12, Math.floor((this.box.clientWidth - SLACK) / width));
    this.#starts = rowStarts(this.#points, columns);
    this.list.setCount(this.#starts.length);
  }

  /** @param {number} number */
  #row(number) {
    const start = /** @type {number} */ (this.#starts[number]);
    const next = this.#starts[number + 1];
    const end = next ?? this.#points.length;
    const row = h("div", { class: "row", "data-from": start });
    let text = "";
    let from = start;
    let look = "";
    const flush = () => {
      if (text) row.append(h("span", { class: `run ${look}`, "data-at": from }, text));
      text = "";
    };
    let cut = lastUpTo(this.#cuts, start - this.#prompt - 1) + 1;
    for (let point = start; point < end; point++) {
      const here = this.#look(point);
      const between = this.#cuts[cut] === point - this.#prompt;
      const character = this.#points.at(point);
      const sign = escapeOf(character);
      if (between || here !== look || sign || !text || point === this.#here()) {
        flush();
        from = point;
        look = here;
      }
      if (between) row.append(this.#handle(cut++));
      if (point === this.#here()) row.append(h("span", { class: "point" }));
      if (sign) row.append(h("span", { class: `run escape ${here}`, "data-at": point, "data-one": true }, sign));
      else text += String.fromCodePoint(character);
    }
    flush();
    if (next === undefined && this.#here() === end) row.append(h("span", { class: "point" }));
    return row;
  }

  /** Where an event belongs that no characters made. */
  #here() {
    const mark = this.#paint.mark;
    return mark && mark.start === mark.end ? mark.start : -1;
  }

  /** @param {number} point */
  #look(point) {
    const { step, held, mark } = this.#paint;
    const within = (/** @type {Range | null | undefined} */ range) => range && point >= range.start && point < range.end;
    let look = point < this.#prompt ? "prompt" : "";
    if (step && point >= step.end) look += " ahead";
    if (within(step)) look += " now";
    if (within(held)) look += " held";
    if (within(mark)) look += " mark";
    return look;
  }

  /** @param {number} which */
  #handle(which) {
    if (!this.#editable) return h("span", { class: "tick", "data-cut": which });
    const cut = /** @type {number} */ (this.#cuts[which]);
    const at = cut + this.#prompt;
    const near = (/** @type {number} */ point) => plainly(this.#points.slice(point, point + 1));
    const simple = this.#cuts.length > FEW && which !== this.#current;
    if (simple) return h("span", { class: "cut", "data-cut": which, "data-testid": "cut" });
    return h("span", {
      class: "cut", role: "slider", tabindex: which === this.#current ? 0 : -1, "data-cut": which, "data-testid": "cut",
      "aria-label": `Cut ${which + 1} of ${this.#cuts.length}`, "aria-valuemin": 1, "aria-valuenow": cut,
      "aria-valuemax": this.#points.length - this.#prompt - 1,
      "aria-valuetext": `at ${cut}, between ${near(at - 1)} and ${near(at)}`,
    });
  }

  /** @param {number[]} cuts */
  #set(cuts) {
    this.setCuts(cuts);
    this.changed(cuts);
  }

  /** @param {number} which */
  #focusCut(which) {
    this.#current = Math.max(0, Math.min(which, this.#cuts.length - 1));
    const cut = this.#cuts[this.#current];
    if (cut === undefined) return this.box.focus();
    this.reveal(cut + this.#prompt);
    this.list.draw();
    this.#element()?.focus({ preventScroll: true });
  }

  #element() {
    return /** @type {HTMLElement | null} */ (this.box.querySelector(`[role=slider][data-cut="${this.#current}"]`));
  }

  /** @param {boolean} focus */
  #refocus(focus) {
    if (focus) (this.#element() ?? this.box).focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.#editable || event.altKey || event.ctrlKey || event.metaKey) return;
    const onCut = cutOf(event) >= 0;
    const step = KEYS[/** @type {keyof typeof KEYS} */ (event.key)];
    const next = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!onCut && ["ArrowLeft", "ArrowRight"].includes(event.key)) this.#focusCut(this.#current);
    else if (onCut && step) this.#move(this.#current, /** @type {number} */ (this.#cuts[this.#current]) + step * (event.shiftKey ? 10 : 1));
    else if (onCut && next) this.#focusCut(this.#current + next);
    else if (onCut && ["Delete", "Backspace"].includes(event.key)) this.#remove();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} which @param {number} position */
  #move(which, position) {
    this.#set(moved(this.#cuts, which, position, this.#points.length - this.#prompt));
    this.#focusCut(which);
  }

  #remove() {
    this.#set(this.#cuts.filter((_, place) => place !== this.#current));
    this.#focusCut(this.#current);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    this.#dragged = false;
    const which = cutOf(event);
    if (which < 0 || !this.#editable || event.button) return;
    event.preventDefault();
    this.#dragging = this.#dragged = true;
    this.#focusCut(which);
    this.box.setPointerCapture(event.pointerId);
    this.box.classList.add("dragging");
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (!this.#dragging) return;
    const position = positionAt(this.box, event.clientX, event.clientY);
    if (position === null || position - this.#prompt === this.#cuts[this.#current]) return;
    this.#set(moved(this.#cuts, this.#current, position - this.#prompt, this.#points.length - this.#prompt));
  }

  #release() {
    this.#dragging = false;
    this.box.classList.remove("dragging");
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const selected = !(getSelection()?.isCollapsed ?? true);
    if (!this.#editable || this.#dragged || selected || cutOf(event) >= 0) return;
    const position = positionAt(this.box, event.clientX, event.clientY);
    if (position === null) return;
    const length = this.#points.length - this.#prompt;
    this.#set(inOrder([...this.#cuts, position - this.#prompt], length));
    this.#focusCut(this.#cuts.indexOf(position - this.#prompt));
  }
}

/** @param {Event} event */
function cutOf(event) {
  const handle = /** @type {Element} */ (event.target).closest(".cut");
  return handle ? Number(handle.getAttribute("data-cut")) : -1;
}
