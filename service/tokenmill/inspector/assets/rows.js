// @ts-check
/** Text as rows of a width in columns: where each row begins. */

import { escapeOf } from "./hidden.js";

/** @import {Points} from "./points.js" */

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** @type {Map<number, number>} */
const widths = new Map();

/**
 * The position at which each row begins. A line break ends its row. `starts` are those of a text that has grown since.
 * @param {Points} points @param {number} columns @param {number[]} [starts]
 */
export function rowStarts(points, columns, starts = [0]) {
  let used = 0;
  for (let point = starts[starts.length - 1]; point < points.length; point++) {
    const character = points.at(point);
    const width = widthOf(character);
    if (used && used + width > columns) used = starts.push(point) && 0;
    used += width;
    if (character === 10) used = starts.push(point + 1) && 0;
  }
  return starts;
}

/** @param {number} character */
function widthOf(character) {
  if (character > 31 && character < 127) return 1;
  const known = widths.get(character);
  if (known) return known;
  const label = escapeOf(character);
  const width = label ? label.length + 1 : WIDE.test(String.fromCodePoint(character)) ? 2 : 1;
  widths.set(character, width);
  return width;
}

/** The place of the last item up to a value, or -1. @param {ArrayLike<number>} sorted @param {number} value */
export function lastUpTo(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
