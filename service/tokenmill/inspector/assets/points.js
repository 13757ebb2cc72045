// @ts-check
/** The server counts code points, JavaScript counts UTF-16 units: the way from one to the other. */

/** A text whose positions are code points. */
export class Points {
  /** Where each code point begins; null where all are one unit. @type {Uint32Array | null} */
  #units;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.#units = /[\ud800-\udbff][\udc00-\udfff]/.test(text) ? unitsOf(text) : null;
    /** How many code points the text has. */
    this.length = this.#units ? this.#units.length - 1 : text.length;
  }

  /** The UTF-16 position of a code point. @param {number} point */
  unit(point) {
    const within = Math.max(0, Math.min(point, this.length));
    return this.#units ? this.#units[within] : within;
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

/** @param {string} text */
function unitsOf(text) {
  const starts = new Uint32Array(text.length + 1);
  let count = 0;
  for (let unit = 0; unit < text.length; unit += Number(text.codePointAt(unit)) > 0xffff ? 2 : 1) starts[count++] = unit;
  starts[count] = text.length;
  return starts.slice(0, count + 1);
}

/** How many code points a text has. @param {string} text */
export function countPoints(text) {
  return new Points(text).length;
}
