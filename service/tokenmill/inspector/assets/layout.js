// @ts-check
/** Places a state diagram in layers: states on even ranks, labels of moves on odd ones, bends where a move passes a rank. */

/**
 * @typedef {{rank: number, x: number, y: number, width: number, height: number, lines: string[],
 *   kind: "state" | "label" | "bend", name: string, near: Item[]}} Item
 * @typedef {{from: string, chain: Item[], label: Item}} Line
 */

const APART = 18;
const BETWEEN = 24;
const LONGEST = 44;
const SHORT = 18;
const SWEEPS = 8;

/** Where everything of a diagram goes. @param {Diagram} diagram */
export function layout(diagram) {
  const ranks = ranksOf(diagram);
  const states = new Map(diagram.states.map(({ name, title }) => [name, item("state", 2 * (ranks.get(name) ?? 0), [title], name)]));
  const lines = diagram.moves.flatMap((move) => line(move, states.get(move.from), states.get(move.to)));
  /** @type {Item[][]} */
  const layers = [];
  for (const each of new Set([...states.values(), ...lines.flatMap(({ chain }) => chain)])) (layers[each.rank] ??= []).push(each);
  for (let sweep = 0; sweep < SWEEPS; sweep++) (sweep % 2 ? [...layers].reverse() : layers).forEach(sort);
  for (let sweep = 0; sweep < SWEEPS; sweep++) (sweep % 2 ? [...layers].reverse() : layers).forEach(spread);
  return { items: layers.flat(), lines, ...framed(layers) };
}

/** How many moves each state is away from the start. @param {Diagram} diagram */
function ranksOf({ start, moves }) {
  const ranks = new Map([[start, 0]]);
  for (const [name, rank] of ranks) for (const { from, to } of moves) if (from === name && !ranks.has(to)) ranks.set(to, rank + 1);
  return ranks;
}

/** @param {Item["kind"]} kind @param {number} rank @param {string[]} texts @param {string} [name] @returns {Item} */
function item(kind, rank, texts, name = "") {
  const lines = texts.map((text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text));
  const pad = kind === "state" ? 24 : 8;
  const width = Math.max(0, ...lines.map((text) => text.length)) * 7.4 + pad;
  return { kind, rank, name, lines, x: 0, y: 0, near: [], width, height: kind === "bend" ? 0 : lines.length * 17 + pad / 2 };
}

/** @param {Move} move @param {Item | undefined} one @param {Item | undefined} other @returns {Line[]} */
function line({ from, labels }, one, other) {
  if (!one || !other) return [];
  const step = one.rank <= other.rank ? 1 : -1;
  // The label is near the state that the move leaves; of a move on one rank it is below.
  const label = item("label", one.rank + step, [...new Set(labels.flatMap(folded))]);
  const chain = [one, label];
  for (let rank = label.rank + step; one.rank !== other.rank && rank !== other.rank; rank += step) chain.push(item("bend", rank, []));
  chain.push(other);
  for (let place = 1; place < chain.length; place++) {
    chain[place].near.push(chain[place - 1]);
    chain[place - 1].near.push(chain[place]);
  }
  return [{ from, label, chain }];
}

/** A long label as a line for each of its spellings. @param {string} label */
function folded(label) {
  return label.length <= SHORT ? [label] : label.split(" or ").map((text, place) => (place ? `or ${text}` : text));
}

/** Where an item wants to be: amid those that it is linked to. @param {Item} item */
function wish({ near, x }) {
  return near.length ? near.reduce((sum, each) => sum + each.x, 0) / near.length : x;
}

/** @param {Item[]} layer */
function sort(layer) {
  const wishes = new Map(layer.map((each) => [each, wish(each)]));
  layer.sort((one, other) => Number(wishes.get(one)) - Number(wishes.get(other)));
  layer.forEach((each, place) => (each.x = (place - (layer.length - 1) / 2) * 100));
}

/** Brings items near to where they want to be; those that push each other move as one. @param {Item[]} layer */
function spread(layer) {
  let offset = 0;
  const offsets = layer.map(({ width }, at) => (offset += at ? (layer[at - 1].width + width) / 2 + APART : 0));
  /** @type {{mean: number, count: number}[]} */
  const groups = [];
  layer.forEach((each, at) => {
    let last = { mean: wish(each) - offsets[at], count: 1 };
    for (let before = groups.at(-1); before && before.mean >= last.mean; before = groups.at(-1)) {
      const count = before.count + last.count;
      last = { mean: (before.mean * before.count + last.mean * last.count) / count, count };
      groups.pop();
    }
    groups.push(last);
  });
  const means = groups.flatMap(({ mean, count }) => /** @type {number[]} */ (Array(count).fill(mean)));
  layer.forEach((each, at) => (each.x = means[at] + offsets[at]));
}

/** Gives layers their heights, and all a place that is not negative. @param {Item[][]} layers */
function framed(layers) {
  let y = 8;
  for (const layer of layers) {
    const height = Math.max(...layer.map((each) => each.height));
    for (const each of layer) each.y = y + height / 2;
    y += height + BETWEEN;
  }
  const all = layers.flat();
  const left = Math.min(...all.map(({ x, width }) => x - width / 2)) - 12;
  for (const each of all) each.x -= left;
  return { width: Math.max(...all.map(({ x, width }) => x + width / 2)) + 12, height: y - BETWEEN + 8 };
}
