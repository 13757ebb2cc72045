// @ts-check
/** The answer as a reader sees it at a step: text, folded reasoning, and a card for each call that grows. */

import { button, h, sync } from "./dom.js";
import { plainly } from "./hidden.js";
import { longText } from "./long.js";

/** @typedef {import("./blocks.js").Block} Block */
/** @typedef {import("./types.js").Event} Event */

const AT_ONCE = 40;

/** The blocks of a run, the last ones first in the page's budget. */
export class Cards {
  #limit = AT_ONCE;
  /** @type {import("./run.js").Run | null} */
  #run = null;
  #end = 0;
  /** @type {Map<Block, {size: number, element: HTMLElement}>} */
  #drawn = new Map();

  constructor() {
    this.earlier = button("Show earlier blocks", () => {
      this.#limit += AT_ONCE;
      this.#draw();
    });
    this.list = h("div", { class: "cards" });
    this.element = h("div", { "data-testid": "answer" }, this.earlier, this.list);
  }

  /**
   * Shows a run as it was before an event.
   * @param {import("./run.js").Run} run @param {number} end
   */
  show(run, end) {
    if (run !== this.#run) {
      this.#drawn.clear();
      this.#limit = AT_ONCE;
    }
    this.#run = run;
    this.#end = end;
    this.#draw();
  }

  #draw() {
    if (!this.#run) return;
    const count = this.#run.blocks.countBefore(this.#end);
    const first = Math.max(0, count - this.#limit);
    this.earlier.hidden = first === 0;
    sync(
      this.list,
      this.#run.blocks.list.slice(first, count).map((block) => this.#card(block)),
    );
  }

  /** @param {Block} block */
  #card(block) {
    const size = block.size(this.#end);
    const known = this.#drawn.get(block);
    if (known?.size === size) return known.element;
    const element = draw(block, this.#end);
    const was = known?.element.querySelector("details");
    const now = element.querySelector("details");
    if (was && now) now.open = was.open;
    this.#drawn.set(block, { size, element });
    return element;
  }
}

/** @param {Block} block @param {number} end @returns {HTMLElement} */
function draw(block, end) {
  const events = block.before(end);
  if (block.kind === "call" || events.error?.id) return callCard(block, end, events);
  if (block.kind === "reasoning") return reasoningCard(block, end);
  if (block.kind === "text") return textCard(block, end, events);
  const [event] = Object.values(events);
  return h("section", { class: `card ${block.kind}`, "data-testid": block.kind }, h("h4", {}, block.kind), fields(event));
}

/** @param {Block} block @param {number} end @param {Record<string, Event | undefined>} events */
function textCard(block, end, events) {
  const start = events["text-start"];
  const note = start?.call !== undefined && `Source of a call that failed${start.cut ? ", cut off" : ""}`;
  return h("section", { class: "card text", "data-testid": "text" }, h("h4", {}, note || "text"), longText(block.deltas.before(end)));
}

/** @param {Block} block @param {number} end */
function reasoningCard(block, end) {
  const text = block.deltas.before(end);
  const folded = h("details", {}, h("summary", {}, `reasoning, ${text.length.toLocaleString("en")} characters`), longText(text));
  return h("section", { class: "card reasoning", "data-testid": "reasoning" }, folded);
}

/** @param {Block} block @param {number} end @param {Record<string, Event | undefined>} events */
function callCard(block, end, events) {
  const about = events["tool-call"] ?? events["tool-input-start"] ?? events.error ?? { type: "", name: undefined };
  const state = stateOf(events);
  return h(
    "section",
    { class: `card call ${state.look}`, "data-testid": "call", "data-state": state.name },
    h("h4", {}, h("span", { class: "name" }, plainly(String(about.name ?? "a call"))), h("span", { class: "badge" }, state.name)),
    about.id !== undefined && h("p", { class: "hint" }, `id ${plainly(String(about.id))}`),
    events.error && h("p", { class: "problem" }, `${events.error.code}: ${plainly(String(events.error.message))}`),
    ...argumentsOf(block, end, events["tool-call"]),
  );
}

/** @param {Record<string, Event | undefined>} events */
function stateOf(events) {
  const call = events["tool-call"];
  if (call?.problem) return { name: String(call.problem), look: "error" };
  if (call) return call.repaired ? { name: "repaired", look: "repaired" } : { name: "complete", look: "" };
  if (events.error) return { name: "failed", look: "error" };
  return { name: events["tool-input-end"] ? "source complete" : "arguments arrive", look: "growing" };
}

/** @param {Block} block @param {number} end @param {Event | undefined} call */
function argumentsOf(block, end, call) {
  const parts = [];
  const source = block.deltas.before(end);
  if (source) parts.push(h("h5", {}, "Source of the arguments"), longText(source, "code"));
  const decoded = [...block.arguments].map(([name, pieces]) => ({ name, text: pieces.before(end) })).filter(({ text }) => text);
  if (decoded.length) parts.push(h("h5", {}, "Decoded as they arrive"));
  if (decoded.length) {
    parts.push(h("dl", {}, ...decoded.flatMap(({ name, text }) => [h("dt", {}, plainly(name)), h("dd", {}, longText(text))])));
  }
  if (call) parts.push(h("h5", {}, "Arguments"), longText(JSON.stringify(call.arguments, null, 2), "code"));
  return parts;
}

/** @param {Event | undefined} event */
function fields(event) {
  const { type: _, ...rest } = event ?? { type: "" };
  return longText(JSON.stringify(rest, null, 2), "code");
}
