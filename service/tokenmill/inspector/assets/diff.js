// @ts-check
/** Two lists of lines side by side: which are the same, by the longest common subsequence. */

/** @typedef {{left: number, right: number, same: boolean}} Pair Numbers of lines; -1 for none. */

// A larger table takes too long; a stretch that needs one counts as changed.
const CELLS = 1_000_000;

/** The rows of a comparison. @param {string[]} left @param {string[]} right */
export function compared(left, right) {
  const shortest = Math.min(left.length, right.length);
  let [head, tail] = [0, 0];
  while (head < shortest && left[head] === right[head]) head++;
  while (tail < shortest - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  const middle = common(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  /** @type {Pair[]} */
  const pairs = [];
  let [one, other] = [0, 0];
  const to = (/** @type {number} */ toOne, /** @type {number} */ toOther, /** @type {boolean} */ same) => {
    while (one < toOne || other < toOther) pairs.push({ left: one < toOne ? one++ : -1, right: other < toOther ? other++ : -1, same });
  };
  to(head, head, true);
  for (const [at, there] of middle) {
    to(head + at, head + there, false);
    to(head + at + 1, head + there + 1, true);
  }
  to(left.length - tail, right.length - tail, false);
  to(left.length, right.length, true);
  return pairs;
}

/** Places of the lines that both have, in order. @param {string[]} ones @param {string[]} others */
function common(ones, others) {
  /** @type {[number, number][]} */
  const places = [];
  const width = others.length + 1;
  if ((ones.length + 1) * width > CELLS) return places;
  // How many lines both have from here on.
  const table = new Uint32Array((ones.length + 1) * width);
  for (let one = ones.length - 1; one >= 0; one--) {
    for (let other = others.length - 1, at = one * width + other; other >= 0; other--, at--) {
      table[at] = ones[one] === others[other] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  for (let one = 0, other = 0; one < ones.length && other < others.length; ) {
    if (ones[one] === others[other]) places.push([one++, other++]);
    else if (table[(one + 1) * width + other] >= table[one * width + other + 1]) one++;
    else other++;
  }
  return places;
}
