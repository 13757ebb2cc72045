// @ts-check
/** The answer as a reader sees it at a step: text, folded reasoning, and a card for each call that grows. */

import { button, count, h, sync } from "./dom.js";
import { plainly } from "./hidden.js";
import { longText } from "./long.js";

/** @import {Block} from "./blocks.js" */
/** @import {Child} from "./dom.js" */
/** @import {Run} from "./run.js" */
/** @typedef {Record<string, NativeEvent | undefined>} Events By type. */

const AT_ONCE = 40;

/** The last blocks of a run; the earlier ones on demand. */
export class Cards {
  #limit = AT_ONCE;
  /** @type {Run | null} */
  #run = null;
  #end = 0;
  /** @type {Map<Block, {size: number, element: HTMLElement}>} */
  #drawn = new Map();
  list = h("div", { class: "cards" });
  earlier = button("Show earlier blocks", () => this.#draw((this.#limit += AT_ONCE)));
  element = h("div", { "data-testid": "answer" }, this.earlier, this.list);

  /** Shows a run as it was before an event. @param {Run} run @param {number} end */
  show(run, end) {
    if (run !== this.#run) this.#drawn.clear();
    this.#run = run;
    this.#end = end;
    this.#draw((this.#limit = AT_ONCE));
  }

  /** @param {number} limit */
  #draw(limit) {
    const blocks = this.#run?.blocks.before(this.#end) ?? [];
    this.earlier.hidden = blocks.length <= limit;
    sync(this.list, blocks.slice(-limit).map((block) => this.#card(block)));
  }

  /** @param {Block} block */
  #card(block) {
    const size = block.size(this.#end);
    const known = this.#drawn.get(block);
    if (known?.size === size) return known.element;
    const element = draw(block, this.#end);
    if (known?.element.querySelector("details[open]")) element.querySelector("details")?.setAttribute("open", "");
    this.#drawn.set(block, { size, element });
    return element;
  }
}

/** @param {Block} block @param {number} end */
function draw(block, end) {
  const events = block.before(end);
  const text = block.deltas.before(end);
  if (block.kind === "call" || events.error?.id) return callCard(block, end, events);
  if (block.kind === "text") return card("text", "", h("h3", {}, titleOf(events["text-start"])), longText(text));
  if (block.kind === "reasoning") {
    return card("reasoning", "", h("details", {}, h("summary", {}, `reasoning, ${count(text.length, "character")}`), longText(text)));
  }
  const { type: _, conversation_id, message_id, seq, time, ...fields } = Object.values(events)[0] ?? { type: "" };
  return card(block.kind, "", h("h3", {}, block.kind), json(fields));
}

/** @param {string} kind @param {string} look @param {...Child} content */
function card(kind, look, ...content) {
  return h("section", { class: `card ${kind} ${look}`, "data-testid": kind, "data-state": look || null }, ...content);
}

/** @param {NativeEvent | undefined} start */
function titleOf(start) {
  return start?.call === undefined ? "text" : `Source of a call that failed${start.cut ? ", cut off" : ""}`;
}

/** @param {Block} block @param {number} end @param {Events} events */
function callCard(block, end, events) {
  const { error } = events;
  const about = events["tool-call"] ?? events["tool-input-start"] ?? error;
  const state = stateOf(events);
  return card("call", state,
    h("h3", {}, h("span", { class: "name" }, plainly(String(about?.name ?? "a call"))), h("span", { class: "badge" }, state)),
    h("p", { class: "hint" }, `id ${plainly(String(about?.id))}`),
    error && h("p", { class: "problem" }, `${error.code}: ${plainly(String(error.message))}`),
    argumentsOf(block, end, events["tool-call"]));
}

/** @param {Events} events */
function stateOf({ error, "tool-call": call, "tool-input-end": inputEnd }) {
  if (error) return "failed";
  if (call) return call.repaired ? "repaired" : "complete";
  return inputEnd ? "ended" : "growing";
}

/** @param {Block} block @param {number} end @param {NativeEvent | undefined} call */
function argumentsOf(block, end, call) {
  const source = block.deltas.before(end);
  const decoded = [...block.arguments].map(([name, pieces]) => ({ name: plainly(name), text: pieces.before(end) })).filter(({ text }) => text);
  return h("dl", {},
    ...(source ? described("Source of the arguments", longText(source, "code")) : []),
    ...decoded.flatMap(({ name, text }) => described(`${name}, decoded`, longText(text))),
    ...(call ? described("Arguments", json(call.arguments)) : []));
}

/** @param {string} title @param {HTMLElement} content */
function described(title, content) {
  return [h("dt", {}, title), h("dd", {}, content)];
}

/** @param {unknown} value */
function json(value) {
  return longText(JSON.stringify(value, null, 2), "code");
}
