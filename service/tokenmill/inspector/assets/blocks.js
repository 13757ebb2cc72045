// @ts-check
/** Events folded into what a reader sees: text, reasoning, calls. A block can be read as it was at any event. */

import { lastUpTo } from "./rows.js";

/** @typedef {import("./types.js").Event} Event */
/** @typedef {"text" | "reasoning" | "call" | "part" | "error" | "finish"} Kind */

/** Pieces of text, each with the number of the event that brought it. */
export class Pieces {
  /** @type {number[]} */
  #at = [];
  /** @type {string[]} */
  #texts = [];

  /** @param {number} number @param {string} text */
  add(number, text) {
    this.#at.push(number);
    this.#texts.push(text);
  }

  /**
   * What there was before an event.
   * @param {number} end
   */
  before(end) {
    return this.#texts.slice(0, lastUpTo(this.#at, end - 1) + 1).join("");
  }
}

/** What belongs together in an answer. */
export class Block {
  /** @type {number[]} */
  #numbers = [];
  /** @type {[number, Event][]} */
  #others = [];
  /** Text of a block, or source of a call's arguments. */
  deltas = new Pieces();
  /** @type {Map<string, Pieces>} */
  arguments = new Map();

  /** @param {Kind} kind @param {string} key @param {number} first */
  constructor(kind, key, first) {
    this.kind = kind;
    this.key = key;
    this.first = first;
  }

  /** @param {number} number @param {Event} event */
  add(number, event) {
    this.#numbers.push(number);
    if (event.type === "argument-delta") {
      const name = String(event.argument);
      const pieces = this.arguments.get(name) ?? new Pieces();
      this.arguments.set(name, pieces);
      pieces.add(number, String(event.delta));
    } else if (event.type.endsWith("-delta")) this.deltas.add(number, String(event.delta));
    else this.#others.push([number, event]);
  }

  /**
   * How many of its events there were before one; a block looks the same while this is the same.
   * @param {number} end
   */
  size(end) {
    return lastUpTo(this.#numbers, end - 1) + 1;
  }

  /**
   * Its events that are not deltas and came before one, by type.
   * @param {number} end
   * @returns {Record<string, Event | undefined>}
   */
  before(end) {
    return Object.fromEntries(this.#others.filter(([number]) => number < end).map(([, event]) => [event.type, event]));
  }
}

/** The blocks of an answer in order. */
export class Blocks {
  /** @type {Block[]} */
  list = [];
  /** @type {number[]} */
  #firsts = [];
  /** @type {Map<string, Block>} */
  #open = new Map();

  /**
   * One more event.
   * @param {number} number @param {Event} event
   */
  add(number, event) {
    const kind = kindOf(event);
    if (!kind) return;
    const name = kind === "error" && event.id ? "call" : kind;
    const key = `${name}/${event.choice ?? 0}/${event.id ?? ""}`;
    const open = event.type.endsWith("-start") ? undefined : this.#open.get(key);
    (open ?? this.#begin(kind, key, number)).add(number, event);
  }

  /**
   * How many blocks there were before an event.
   * @param {number} end
   */
  countBefore(end) {
    return lastUpTo(this.#firsts, end - 1) + 1;
  }

  /** @param {Kind} kind @param {string} key @param {number} number */
  #begin(kind, key, number) {
    const block = new Block(kind, `${key}/${number}`, number);
    this.list.push(block);
    this.#firsts.push(number);
    if (["text", "reasoning", "call"].includes(kind)) this.#open.set(key, block);
    return block;
  }
}

/**
 * @param {Event} event
 * @returns {Kind | null}
 */
function kindOf({ type }) {
  if (type === "argument-delta" || type.startsWith("tool-")) return "call";
  const [kind] = type.split("-");
  return /** @type {Kind | null} */ (kind === "message" ? null : kind);
}
