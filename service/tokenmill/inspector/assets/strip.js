// @ts-check
/** The source strip: what the parser read, with cuts as handles, the step and the chosen event marked. */

import { inOrder, moved } from "./cuts.js";
import { h, perFrame } from "./dom.js";
import { escapeOf, plainly } from "./hidden.js";
import { VirtualList } from "./list.js";
import { Points } from "./points.js";
import { positionAt } from "./position.js";
import { lastUpTo, rowStarts } from "./rows.js";

/** @typedef {{step?: Span | null, held?: Span | null, mark?: Span | null}} Paint */

const KEYS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
// With more cuts, only the current one is described: a thousand sliders are slow, and of no use.
const FEW = 100;

/** Text in rows. Positions are those of the source, where the prompt's end is in front; cuts are those of the text. */
export class Strip {
  #points = new Points("");
  #starts = [0];
  #columns = 0;
  #prompt = 0;
  /** @type {number[]} */
  #cuts = [];
  #editable = true;
  #current = 0;
  #dragging = false;
  #dragged = false;
  /** @type {Paint} */
  #paint = {};

  /** @param {string} id @param {(cuts: number[]) => void} changed */
  constructor(id, changed) {
    this.changed = changed;
    this.box = h("div", {
      class: "strip", id, role: "group", tabindex: 0, "aria-label": "Source strip", "aria-describedby": `${id}-keys`,
      keydown: (event) => this.#key(event),
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#drag(event),
      pointerup: () => this.#release(),
      pointercancel: () => this.#release(),
      click: (event) => this.#click(event),
    });
    this.ruler = h("span", {}, "0".repeat(100));
    this.keys = h("p", { class: "hint", id: `${id}-keys` },
      "Click between characters to cut. On a cut: left and right move it, up and down go to the next one, Delete removes it.");
    this.element = h("div", {}, h("div", { class: "ruler", "aria-hidden": "true" }, this.ruler), this.box, this.keys);
    this.list = new VirtualList(this.box, (row) => this.#row(row), () => this.#focus());
    /** Breaks the text into rows, in the next frame. */
    this.wrap = perFrame(() => this.#wrap());
    new ResizeObserver(this.wrap).observe(this.box);
  }

  /** Another source, and whether it can be cut. @param {Points} points @param {number} prompt @param {boolean} editable */
  setText(points, prompt, editable) {
    const same = points.text === this.#points.text;
    this.#points = points;
    this.#prompt = prompt;
    this.#editable = editable;
    this.keys.hidden = !editable;
    if (same) return;
    this.#starts = [0];
    this.wrap();
  }

  /** The text has grown. */
  grow() {
    if (this.#columns) this.list.setCount(rowStarts(this.#points, this.#columns, this.#starts).length);
  }

  /** Other cuts. @param {number[]} cuts */
  setCuts(cuts) {
    this.#cuts = cuts;
    this.#current = Math.max(0, Math.min(this.#current, cuts.length - 1));
    this.list.refresh();
  }

  /** Marks a step, what it holds back, or what made an event. @param {Paint} paint */
  paint(paint) {
    this.#paint = { ...this.#paint, ...paint };
    this.list.refresh();
  }

  /** Scrolls to a position. @param {number} position */
  reveal(position) {
    this.list.reveal(lastUpTo(this.#starts, position));
  }

  #wrap() {
    const width = this.ruler.getBoundingClientRect().width / 100 || 8;
    this.#columns = Math.max(12, Math.floor((this.box.clientWidth - 28) / width));
    this.#starts = rowStarts(this.#points, this.#columns);
    this.list.setCount(this.#starts.length);
  }

  /** @param {number} number */
  #row(number) {
    const start = this.#starts[number];
    const end = this.#starts[number + 1] ?? this.#points.length + 1;
    const row = h("div", { class: "row" });
    let [text, from, look] = ["", start, ""];
    const flush = () => {
      if (text) row.append(h("span", { class: `run ${look}`, "data-at": from }, text));
      text = "";
    };
    let cut = lastUpTo(this.#cuts, start - this.#prompt - 1) + 1;
    for (let point = start; point < end; point++) {
      const here = this.#look(point);
      const mark = this.#between(point, this.#cuts[cut] === point - this.#prompt ? cut++ : -1);
      if (mark || here !== look || !text) {
        flush();
        [from, look] = [point, here];
      }
      if (mark) row.append(mark);
      const character = point < this.#points.length ? this.#points.at(point) : -1;
      const sign = character < 0 ? "" : escapeOf(character);
      if (sign) {
        flush();
        row.append(h("span", { class: `run escape ${here}`, "data-at": point }, sign));
      } else if (character >= 0) text += String.fromCodePoint(character);
    }
    flush();
    return row;
  }

  /** A cut in front of a character, or the place of an event without characters. @param {number} point @param {number} cut */
  #between(point, cut) {
    const mark = this.#paint.mark;
    if (cut >= 0) return this.#handle(cut);
    return mark?.start === point && mark.end === point ? h("span", { class: "point" }) : null;
  }

  /** @param {number} point */
  #look(point) {
    const { step, held, mark } = this.#paint;
    const within = (/** @type {Span | null | undefined} */ span) => span && point >= span.start && point < span.end;
    let look = point < this.#prompt ? "prompt" : "";
    if (step && point >= step.end) look += " ahead";
    if (within(step)) look += " now";
    if (within(held)) look += " held";
    if (within(mark)) look += " mark";
    return look;
  }

  /** @param {number} which */
  #handle(which) {
    if (!this.#editable) return h("span", { class: "tick" });
    const on = which === this.#current;
    const cut = this.#cuts[which];
    const near = [1, 0].map((back) => plainly(this.#points.slice(cut + this.#prompt - back, cut + this.#prompt - back + 1)));
    const told = this.#cuts.length > FEW && !on ? {} : {
      role: "slider", tabindex: on ? 0 : -1, "aria-label": `Cut ${which + 1} of ${this.#cuts.length}`, "aria-valuemin": 1,
      "aria-valuenow": cut, "aria-valuemax": this.#length() - 1, "aria-valuetext": `at ${cut}, between ${near.join(" and ")}`,
    };
    return h("span", { class: "cut", "data-cut": which, "data-testid": "cut", ...told });
  }

  #length() {
    return this.#points.length - this.#prompt;
  }

  /** @param {number[]} cuts @param {number} which */
  #set(cuts, which) {
    this.setCuts(cuts);
    this.changed(cuts);
    this.#go(which);
  }

  /** Brings the focus to a cut. @param {number} which */
  #go(which) {
    this.#current = Math.max(0, Math.min(which, this.#cuts.length - 1));
    if (this.#cuts.length) this.reveal(this.#cuts[this.#current] + this.#prompt);
    this.list.draw();
    this.#focus();
  }

  #focus() {
    const cut = /** @type {HTMLElement | null} */ (this.box.querySelector(`[data-cut="${this.#current}"]`));
    (cut ?? this.box).focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.#editable || event.altKey || event.ctrlKey || event.metaKey) return;
    const { key } = event;
    const on = cutOf(event) >= 0;
    const step = KEYS[/** @type {keyof typeof KEYS} */ (key)] * (event.shiftKey ? 10 : 1);
    if (!on && (key === "ArrowLeft" || key === "ArrowRight")) this.#go(this.#current);
    else if (on && step) this.#move(this.#cuts[this.#current] + step);
    else if (on && key === "ArrowUp") this.#go(this.#current - 1);
    else if (on && key === "ArrowDown") this.#go(this.#current + 1);
    else if (on && (key === "Delete" || key === "Backspace")) this.#set(this.#cuts.filter((_, place) => place !== this.#current), this.#current);
    else return;
    event.preventDefault();
  }

  /** @param {number} position */
  #move(position) {
    this.#set(moved(this.#cuts, this.#current, position, this.#length()), this.#current);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const which = cutOf(event);
    this.#dragging = this.#dragged = which >= 0 && this.#editable && !event.button;
    if (!this.#dragging) return;
    event.preventDefault();
    this.#go(which);
    this.box.setPointerCapture(event.pointerId);
    this.box.classList.add("dragging");
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (!this.#dragging) return;
    const position = positionAt(event.clientX, event.clientY);
    if (position !== null && position - this.#prompt !== this.#cuts[this.#current]) this.#move(position - this.#prompt);
  }

  #release() {
    this.#dragging = false;
    this.box.classList.remove("dragging");
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const position = positionAt(event.clientX, event.clientY);
    const free = this.#editable && !this.#dragged && getSelection()?.isCollapsed !== false && cutOf(event) < 0;
    if (!free || position === null) return;
    const cuts = inOrder([...this.#cuts, position - this.#prompt], this.#length());
    this.#set(cuts, cuts.indexOf(position - this.#prompt));
  }
}

/** @param {Event} event */
function cutOf(event) {
  return Number(/** @type {Element} */ (event.target).closest(".cut")?.getAttribute("data-cut") ?? -1);
}
