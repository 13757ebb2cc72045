// @ts-check
/** Positions at which a text is cut: sorted, each once, inside of the text. */

/** The positions of pieces of one size. @param {number} length @param {number} size */
export function every(length, size) {
  const cuts = [];
  if (size > 0) for (let cut = size; cut < length; cut += size) cuts.push(cut);
  return cuts;
}

/** So many pieces, cut at random. @param {number} length @param {number} pieces */
export function atRandom(length, pieces) {
  const cuts = /** @type {Set<number>} */ (new Set());
  while (cuts.size < Math.min(pieces, length) - 1) cuts.add(1 + Math.floor(Math.random() * (length - 1)));
  return inOrder([...cuts], length);
}

/** Positions in order, without those that cut nothing. @param {number[]} cuts @param {number} length */
export function inOrder(cuts, length) {
  return [...new Set(cuts)].filter((cut) => cut > 0 && cut < length).sort((one, other) => one - other);
}

/**
 * Cuts of which one goes elsewhere, as far as its neighbours let it.
 * @param {number[]} cuts @param {number} which @param {number} position @param {number} length
 */
export function moved(cuts, which, position, length) {
  const within = Math.max((cuts[which - 1] ?? 0) + 1, Math.min(position, (cuts[which + 1] ?? length) - 1));
  return cuts.with(which, within);
}

/** The pieces of a text. @param {import("./points.js").Points} points @param {number[]} cuts */
export function pieces(points, cuts) {
  return [...cuts, points.length].map((end, place) => points.slice(cuts[place - 1] ?? 0, end));
}
