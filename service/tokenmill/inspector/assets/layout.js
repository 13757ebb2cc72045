// @ts-check
/**
 * Places a state diagram in layers: states on even ranks, labels of moves on the odd ones between, and bends where a move
 * passes a rank. So no label lies on another, or on a state. Nothing here touches the page.
 */

/**
 * @typedef {{rank: number, x: number, y: number, width: number, height: number, lines: string[],
 *   kind: "state" | "label" | "bend", name: string, up: Item[], down: Item[]}} Item
 * @typedef {{from: string, to: string, chain: Item[], label: Item}} Line
 * @typedef {{items: Item[], lines: Line[], width: number, height: number}} Layout
 */

const LETTER = 7.4;
const LINE = 17;
const APART = 18;
const BETWEEN = 24;
const LONGEST = 44;
const SHORT = 18;
const SWEEPS = 8;

/**
 * Where everything of a diagram goes.
 * @param {import("./types.js").Diagram} diagram
 * @returns {Layout}
 */
export function layout(diagram) {
  const ranks = ranksOf(diagram);
  /** @type {Map<string, Item>} */
  const states = new Map(diagram.states.map(({ name, title }) => [name, item("state", 2 * (ranks.get(name) ?? 0), [title], name)]));
  const known = diagram.moves.filter(({ from, to }) => states.has(from) && states.has(to));
  const lines = known.map((move) => line(move, states));
  const items = [...new Set([...states.values(), ...lines.flatMap(({ chain }) => chain)])];
  const layers = layered(items);
  for (let sweep = 0; sweep < SWEEPS; sweep++) sort(layers, sweep % 2 === 0);
  return { items, lines, ...place(layers) };
}

/** @param {import("./types.js").Diagram} diagram */
function ranksOf({ start, states, moves }) {
  const ranks = new Map([[start, 0]]);
  for (const name of ranks.keys()) {
    for (const { to } of moves.filter(({ from }) => from === name)) {
      if (!ranks.has(to)) ranks.set(to, /** @type {number} */ (ranks.get(name)) + 1);
    }
  }
  for (const { name } of states) if (!ranks.has(name)) ranks.set(name, 0);
  return ranks;
}

/** @param {Item["kind"]} kind @param {number} rank @param {string[]} texts @param {string} name @returns {Item} */
function item(kind, rank, texts, name = "") {
  const lines = texts.map((text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text));
  const longest = Math.max(1, ...lines.map((text) => [...text].length));
  const pad = kind === "state" ? 24 : 8;
  const size = kind === "bend" ? { width: 6, height: 0 } : { width: longest * LETTER + pad, height: lines.length * LINE + pad / 2 };
  return { kind, rank, name, lines, x: 0, y: 0, up: [], down: [], ...size };
}

/** @param {import("./types.js").DiagramMove} move @param {Map<string, Item>} states @returns {Line} */
function line({ from, to, labels }, states) {
  const one = /** @type {Item} */ (states.get(from));
  const other = /** @type {Item} */ (states.get(to));
  const down = one.rank < other.rank;
  const [top, bottom] = down ? [one, other] : [other, one];
  const label = item("label", 0, labels.length ? [...new Set(labels.flatMap(folded))] : [""]);
  // The label is near the state that the move leaves.
  label.rank = down || one.rank === other.rank ? one.rank + 1 : one.rank - 1;
  const between = [];
  for (let rank = top.rank + 1; rank < bottom.rank; rank++) between.push(rank === label.rank ? label : item("bend", rank, []));
  const chain = one.rank === other.rank ? [one, label, other] : [top, ...between, bottom];
  link(chain, one.rank === other.rank);
  return { from, to, label, chain: down || one.rank === other.rank ? chain : chain.reverse() };
}

/**
 * A long label as a line for each of its spellings.
 * @param {string} label
 */
function folded(label) {
  if (label.length <= SHORT) return [label];
  return label.split(" or ").map((text, place) => (place ? `or ${text}` : text));
}

/** @param {Item[]} chain @param {boolean} level */
function link(chain, level) {
  chain.slice(1).forEach((below, place) => {
    const above = /** @type {Item} */ (chain[place]);
    const [top, bottom] = level && place === 1 ? [below, above] : [above, below];
    if (level && place === 1) {
      // Both ends are above the label.
      below.down.push(above);
      above.up.push(below);
    } else {
      top.down.push(bottom);
      bottom.up.push(top);
    }
  });
}

/** @param {Item[]} items */
function layered(items) {
  /** @type {Item[][]} */
  const layers = [];
  for (const each of items) (layers[each.rank] ??= []).push(each);
  const all = Array.from(layers, (layer) => layer ?? []);
  all.forEach((layer) => layer.forEach((each, place) => (each.x = place)));
  return all;
}

/** @param {Item[][]} layers @param {boolean} downwards */
function sort(layers, downwards) {
  for (const layer of downwards ? layers : [...layers].reverse()) {
    const wanted = new Map(layer.map((each) => [each, mean(downwards ? each.up : each.down, each.x)]));
    layer.sort((one, other) => /** @type {number} */ (wanted.get(one)) - /** @type {number} */ (wanted.get(other)));
    layer.forEach((each, place) => (each.x = place - (layer.length - 1) / 2));
  }
}

/** @param {Item[]} items @param {number} otherwise */
function mean(items, otherwise) {
  return items.length ? items.reduce((sum, { x }) => sum + x, 0) / items.length : otherwise;
}

/** @param {Item[][]} layers */
function place(layers) {
  for (const layer of layers) spread(layer, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) spread(layer, (each) => mean([...each.up, ...each.down], each.x));
  }
  let y = 8;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((each) => each.height));
    for (const each of layer) each.y = y + height / 2;
    y += height + BETWEEN;
  }
  const all = layers.flat();
  const left = Math.min(...all.map(({ x, width }) => x - width / 2)) - 12;
  for (const each of all) each.x -= left;
  return { width: Math.max(...all.map(({ x, width }) => x + width / 2)) + 12, height: y - BETWEEN + 8 };
}

/**
 * Brings each item as near to where it wants to be as its neighbours allow: items that push each other move as one.
 * @param {Item[]} layer @param {(item: Item) => number} wish
 */
function spread(layer, wish) {
  let offset = 0;
  const offsets = layer.map(({ width }, number) => {
    const before = layer[number - 1];
    return (offset += before ? (before.width + width) / 2 + APART : 0);
  });
  /** @type {{sum: number, count: number}[]} */
  const groups = [];
  layer.forEach((each, number) => {
    groups.push({ sum: wish(each) - /** @type {number} */ (offsets[number]), count: 1 });
    merge(groups);
  });
  const places = groups.flatMap(({ sum, count }) => /** @type {number[]} */ (Array(count).fill(sum / count)));
  layer.forEach((each, number) => (each.x = /** @type {number} */ (places[number]) + /** @type {number} */ (offsets[number])));
}

/** @param {{sum: number, count: number}[]} groups */
function merge(groups) {
  for (let last = groups.at(-1), before = groups.at(-2); last && before && before.sum / before.count >= last.sum / last.count; ) {
    groups.pop();
    before.sum += last.sum;
    before.count += last.count;
    [last, before] = [groups.at(-1), groups.at(-2)];
  }
}
