// @ts-check
/** Text as rows of a width in columns: where each row begins. Nothing here touches the page. */

import { escapeOf } from "./hidden.js";

const WIDE = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];

/**
 * The position at which each row begins. A line break ends its row.
 * @param {import("./points.js").Points} points @param {number} columns
 */
export function rowStarts(points, columns) {
  const starts = [0];
  let used = 0;
  for (let point = 0; point < points.length; point++) {
    const character = points.at(point);
    const width = widthOf(character);
    if (used && used + width > columns) {
      starts.push(point);
      used = 0;
    }
    used += width;
    if (character === 10) {
      starts.push(point + 1);
      used = 0;
    }
  }
  return starts;
}

/**
 * How many columns a character takes.
 * @param {number} character
 */
function widthOf(character) {
  if (character > 31 && character < 127) return 1;
  const label = escapeOf(character);
  if (label) return label.length + 1;
  return WIDE.some(([from, to]) => character >= /** @type {number} */ (from) && character <= /** @type {number} */ (to)) ? 2 : 1;
}

/**
 * The number of the last item that is not above a value, in a sorted list; -1 if all are.
 * @param {ArrayLike<number>} sorted @param {number} value
 */
export function lastUpTo(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (sorted[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
