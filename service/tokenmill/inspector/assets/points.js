// @ts-check
/** The server counts code points, JavaScript counts UTF-16 units: the way from one to the other. */

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/** A text whose positions are code points; it may grow. */
export class Points {
  text = "";
  /** How many code points the text has. */
  length = 0;
  /** Where each code point begins; null where all are one unit. @type {number[] | null} */
  #units = null;

  /** @param {string} text */
  constructor(text) {
    this.add(text);
  }

  /** More of it: whole characters. @param {string} text */
  add(text) {
    if (!this.#units && PAIR.test(text)) this.#units = Array.from(this.text, (_, unit) => unit);
    for (let unit = 0; this.#units && unit < text.length; unit += Number(text.codePointAt(unit)) > 0xffff ? 2 : 1) {
      this.#units.push(this.text.length + unit);
    }
    this.text += text;
    this.length = this.#units?.length ?? this.text.length;
  }

  /** The UTF-16 position of a code point. @param {number} point */
  unit(point) {
    const within = Math.max(0, Math.min(point, this.length));
    return this.#units ? this.#units[within] ?? this.text.length : within;
  }

  /** The part between two positions. @param {number} start @param {number} end */
  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }

  /** The character at a position as a number. @param {number} point */
  at(point) {
    return this.text.codePointAt(this.unit(point)) ?? 0;
  }
}

/** How many code points a text has. @param {string} text */
export function countPoints(text) {
  return new Points(text).length;
}
