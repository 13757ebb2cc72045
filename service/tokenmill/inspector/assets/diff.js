// @ts-check
/** Two lists of lines side by side: which are the same, by the longest common subsequence. */

/** @typedef {{left: number, right: number, same: boolean}} Pair Numbers of lines; -1 for none. */

// A table of more cells takes longer than a frame may; a stretch that needs one counts as changed.
const CELLS = 1_000_000;

/**
 * The rows of a comparison.
 * @param {string[]} left @param {string[]} right
 * @returns {Pair[]}
 */
export function compared(left, right) {
  const shortest = Math.min(left.length, right.length);
  let head = 0;
  while (head < shortest && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < shortest - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  const pairs = Array.from({ length: head }, (_, at) => ({ left: at, right: at, same: true }));
  between(pairs, left, right, head, tail);
  for (let back = tail; back > 0; back--) pairs.push({ left: left.length - back, right: right.length - back, same: true });
  return pairs;
}

/** @param {Pair[]} pairs @param {string[]} left @param {string[]} right @param {number} head @param {number} tail */
function between(pairs, left, right, head, tail) {
  const ones = left.slice(head, left.length - tail);
  const others = right.slice(head, right.length - tail);
  let [one, other] = [0, 0];
  const changed = (/** @type {number} */ toOne, /** @type {number} */ toOther) => {
    while (one < toOne || other < toOther) {
      pairs.push({ left: one < toOne ? head + one++ : -1, right: other < toOther ? head + other++ : -1, same: false });
    }
  };
  for (const [at, there] of common(ones, others)) {
    changed(at, there);
    pairs.push({ left: head + one++, right: head + other++, same: true });
  }
  changed(ones.length, others.length);
}

/**
 * Places of the lines that both have, in order.
 * @param {string[]} ones @param {string[]} others
 * @returns {[number, number][]}
 */
function common(ones, others) {
  const width = others.length + 1;
  if ((ones.length + 1) * width > CELLS) return [];
  const table = new Uint32Array((ones.length + 1) * width);
  const cell = (/** @type {number} */ one, /** @type {number} */ other) => /** @type {number} */ (table[one * width + other]);
  for (let one = ones.length - 1; one >= 0; one--) {
    for (let other = others.length - 1; other >= 0; other--) {
      table[one * width + other] =
        ones[one] === others[other] ? cell(one + 1, other + 1) + 1 : Math.max(cell(one + 1, other), cell(one, other + 1));
    }
  }
  /** @type {[number, number][]} */
  const places = [];
  for (let one = 0, other = 0; one < ones.length && other < others.length; ) {
    if (ones[one] === others[other]) places.push([one++, other++]);
    else if (cell(one + 1, other) >= cell(one, other + 1)) one++;
    else other++;
  }
  return places;
}
