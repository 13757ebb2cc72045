// @ts-check
/** Events folded into what a reader sees: text, reasoning, calls. A block can be read as it was at any event. */

import { lastUpTo } from "./rows.js";

/** Pieces of text, each with the number of the event that brought it. */
class Pieces {
  /** @type {number[]} */
  #at = [];
  /** @type {string[]} */
  #texts = [];

  /** One more. @param {number} number @param {unknown} text */
  add(number, text) {
    this.#at.push(number);
    this.#texts.push(String(text));
  }

  /** What there was before an event. @param {number} end */
  before(end) {
    return this.#texts.slice(0, lastUpTo(this.#at, end - 1) + 1).join("");
  }
}

/** What belongs together in an answer. */
export class Block {
  /** @type {number[]} */
  #numbers = [];
  /** @type {[number, NativeEvent][]} */
  #others = [];
  /** Text of a block, or source of a call's arguments. */
  deltas = new Pieces();
  /** @type {Map<string, Pieces>} */
  arguments = new Map();

  /** @param {string} kind */
  constructor(kind) {
    this.kind = kind;
  }

  /** One more event. @param {number} number @param {NativeEvent} event */
  add(number, event) {
    this.#numbers.push(number);
    if (event.type === "argument-delta") {
      const name = String(event.argument);
      const pieces = this.arguments.get(name) ?? new Pieces();
      this.arguments.set(name, pieces);
      pieces.add(number, event.delta);
    } else if (event.type.endsWith("-delta")) this.deltas.add(number, event.delta);
    else this.#others.push([number, event]);
  }

  /** How many of its events came before one. @param {number} end */
  size(end) {
    return lastUpTo(this.#numbers, end - 1) + 1;
  }

  /** Its events before one by type, without deltas. @param {number} end @returns {Record<string, NativeEvent | undefined>} */
  before(end) {
    return Object.fromEntries(this.#others.filter(([number]) => number < end).map(([, event]) => [event.type, event]));
  }
}

/** The blocks of an answer in order. */
export class Blocks {
  /** @type {Block[]} */
  #list = [];
  /** @type {number[]} */
  #firsts = [];
  /** @type {Map<string, Block>} */
  #open = new Map();

  /** One more event. @param {number} number @param {NativeEvent} event */
  add(number, event) {
    const kind = kindOf(event);
    if (kind === "message") return;
    const key = `${kind === "error" && event.id ? "call" : kind}/${event.choice}/${event.id}`;
    let block = event.type.endsWith("-start") ? undefined : this.#open.get(key);
    if (!block) {
      block = new Block(kind);
      this.#list.push(block);
      this.#firsts.push(number);
      if (event.id !== undefined && kind !== "part") this.#open.set(key, block);
    }
    block.add(number, event);
  }

  /** The blocks that there were before an event. @param {number} end */
  before(end) {
    return this.#list.slice(0, lastUpTo(this.#firsts, end - 1) + 1);
  }
}

/** @param {NativeEvent} event */
function kindOf({ type }) {
  return type === "argument-delta" || type.startsWith("tool-") ? "call" : type.split("-")[0];
}
