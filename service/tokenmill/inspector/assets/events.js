// @ts-check
/** The list of events up to a step, and the details of the one that is chosen. */

import { h } from "./dom.js";
import { plainly } from "./hidden.js";
import { VirtualList } from "./list.js";
import { longText } from "./long.js";
import { oddity, summary } from "./summary.js";

/** @typedef {import("./types.js").Made} Made */

/** A list box of events. Pointing at one or choosing it marks the characters that made it. */
export class EventList {
  /** @type {Made[]} */
  #made = [];
  #count = 0;
  #fresh = 0;
  #chosen = -1;
  #pointed = -1;

  /**
   * @param {string} id
   * @param {(made: Made | null, reveal: boolean) => void} mark
   */
  constructor(id, mark) {
    this.id = id;
    this.mark = mark;
    this.box = h("div", {
      class: "events", id, role: "listbox", tabindex: 0, "aria-label": "Events", "data-testid": "events",
      keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      click: (/** @type {MouseEvent} */ event) => this.#choose(rowOf(event), false),
      pointermove: (/** @type {PointerEvent} */ event) => this.#point(rowOf(event)),
      pointerleave: () => this.#point(-1),
      focus: () => this.#choose(this.#chosen < 0 ? 0 : this.#chosen, false),
    });
    this.detail = h("div", { class: "detail", "data-testid": "event-detail", role: "region", "aria-label": "Chosen event" });
    this.list = new VirtualList(this.box, (row) => this.#row(row));
  }

  /**
   * Shows the first events of a run; those from `fresh` on are of the step itself.
   * @param {Made[]} made @param {number} count @param {number} fresh
   */
  show(made, count, fresh) {
    if (made !== this.#made) this.#forget();
    this.#made = made;
    this.#count = count;
    this.#fresh = fresh;
    if (this.#chosen >= count) this.#forget();
    this.list.setCount(count);
    if (count) this.list.reveal(count - 1);
  }

  #forget() {
    this.#chosen = this.#pointed = -1;
    this.box.removeAttribute("aria-activedescendant");
    this.detail.replaceChildren(h("p", { class: "hint" }, "Choose an event to see it whole."));
    this.mark(null, false);
  }

  /** @param {number} row */
  #row(row) {
    const { event, start, end } = /** @type {Made} */ (this.#made[row]);
    const odd = oddity(event);
    return h(
      "div",
      {
        class: `event ${row >= this.#fresh ? "fresh" : ""} ${odd}`, role: "option", id: `${this.id}-${row}`,
        "data-row": row, "data-type": event.type, "data-start": start, "data-end": end, "data-testid": "event",
        "aria-selected": row === this.#chosen ? "true" : "false", "aria-setsize": this.#count, "aria-posinset": row + 1,
      },
      h("span", { class: `type ${event.type.replace(/-(start|delta|end)$/, "")}` }, plainly(event.type)),
      h("span", { class: "says" }, summary(event)),
      odd && h("span", { class: "odd" }, odd),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.list.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (move === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.#choose(Math.max(0, Math.min(this.#count - 1, this.#chosen + move)), true);
  }

  /** @param {number} row @param {boolean} reveal */
  #choose(row, reveal) {
    const made = this.#made[row];
    if (!made || row >= this.#count) return;
    const again = row === this.#chosen;
    this.#chosen = row;
    this.box.setAttribute("aria-activedescendant", `${this.id}-${row}`);
    if (reveal) this.list.reveal(row);
    this.list.refresh();
    this.mark(made, true);
    if (!again) this.detail.replaceChildren(...details(made));
  }

  /** @param {number} row */
  #point(row) {
    if (row === this.#pointed) return;
    this.#pointed = row;
    this.mark(this.#made[row] ?? this.#made[this.#chosen] ?? null, false);
  }
}

/** @param {Event} event */
function rowOf(event) {
  const row = /** @type {Element} */ (event.target).closest("[data-row]");
  return row ? Number(row.getAttribute("data-row")) : -1;
}

/** @param {Made} made */
function details({ event, start, end, payloads }) {
  const where = start === end ? `No characters, at ${start}` : `Characters ${start} to ${end}`;
  const parts = [h("p", {}, where), longText(JSON.stringify(event, null, 2), "code")];
  if (payloads.length) parts.push(h("h4", {}, "Payloads of the dialect"), ...payloads.slice(0, 20).map((text) => longText(text, "code")));
  return parts;
}
