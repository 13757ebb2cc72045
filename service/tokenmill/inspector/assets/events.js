// @ts-check
/** The list of events up to a step, and the details of the one that is chosen. */

import { h } from "./dom.js";
import { plainly } from "./hidden.js";
import { ListBox } from "./listbox.js";
import { longText } from "./long.js";

const ENVELOPE = new Set(["type", "conversation_id", "message_id", "seq", "time"]);

/** Events. Pointing at one or choosing it marks the characters that made it. */
export class EventList {
  /** @type {Made[]} */
  #made = [];
  #fresh = 0;
  #pointed = -1;

  /** @param {string} id @param {(made: Made | null, reveal: boolean) => void} mark */
  constructor(id, mark) {
    this.mark = mark;
    const attributes = { class: "events", "aria-label": "Events", "data-testid": "events" };
    this.list = new ListBox(id, attributes, (row) => this.#row(row), (row) => this.#choose(row), (row) => this.#point(row));
    this.detail = h("div", { class: "detail", "data-testid": "event-detail" });
  }

  /**
   * Shows the first events of a run; those from `fresh` on are of the step itself.
   * @param {Made[]} made @param {number} count @param {number} fresh
   */
  show(made, count, fresh) {
    const forget = made !== this.#made || this.list.chosen >= count;
    this.#made = made;
    this.#fresh = fresh;
    this.list.show(count, forget);
    if (count) this.list.list.reveal(count - 1);
    if (forget) this.detail.replaceChildren(h("p", { class: "hint" }, "Choose an event to see it whole."));
    if (forget) this.mark(null, false);
  }

  /** @param {number} row @returns {import("./listbox.js").Row} */
  #row(row) {
    const { event, start, end, sent, other } = this.#made[row];
    const odd = other === undefined ? oddity(event) : "published otherwise";
    return [
      {
        class: `event ${row >= this.#fresh ? "fresh" : ""} ${other === undefined ? odd : "error"}`, "data-testid": "event",
        "data-type": event.type, "data-start": start, "data-end": end,
      },
      h("span", { class: "type" }, plainly(event.type)),
      h("span", { class: "says" }, summary(event)),
      odd && h("span", { class: "odd" }, odd),
      sent === false && h("span", { class: "odd" }, "not published yet"),
    ];
  }

  /** @param {number} row */
  #choose(row) {
    const { event, start, end, payloads = [], other } = this.#made[row];
    this.mark(this.#made[row], true);
    this.detail.replaceChildren(
      h("p", {}, start === end ? `No characters, at ${start}` : `Characters ${start} to ${end}`),
      longText(JSON.stringify(event, null, 2), "code"),
      other === undefined ? "" : h("p", {}, "A worker published in its place:"),
      other === undefined ? "" : longText(JSON.stringify(other, null, 2), "code"),
      ...payloads.slice(0, 20).map((text) => longText(text, "code")),
    );
  }

  /** @param {number} row */
  #point(row) {
    if (row === this.#pointed) return;
    this.#pointed = row;
    this.mark(this.#made[row] ?? this.#made[this.list.chosen] ?? null, false);
  }
}

/** What an event says in a row. @param {NativeEvent} event */
function summary(event) {
  if ("delta" in event) return [event.argument, JSON.stringify(clipped(event.delta))].filter(Boolean).map(clipped).join(" ");
  if (event.type === "tool-call") return `${clipped(event.name)} ${clipped(event.arguments)}`;
  if (event.type === "error") return `${event.code}: ${clipped(event.message)}`;
  return Object.entries(event).filter(([name]) => !ENVELOPE.has(name)).map(([name, value]) => `${name} ${clipped(value)}`).join(", ");
}

/** What is wrong or odd with an event: "error", "repaired" or nothing. @param {NativeEvent} event */
function oddity(event) {
  return event.type === "error" || event.problem ? "error" : event.repaired ? "repaired" : "";
}

/** @param {unknown} value */
function clipped(value) {
  return plainly((typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200));
}
