// @ts-check
/** A format's state diagram as SVG, with the state in which the parser is lit up. */

import { h, s } from "./dom.js";
import { layout } from "./layout.js";

/** @typedef {import("./layout.js").Item} Item */
/** @typedef {import("./layout.js").Line} Line */

let drawn = 0;

/** The diagrams of the formats that live at once. */
export class Diagrams {
  /** @type {{name: string, states: Set<string>, figure: HTMLElement, title: Map<string, string>}[]} */
  #figures = [];
  #names = "";

  constructor() {
    this.element = h("div", { class: "diagrams", "data-testid": "diagrams" });
  }

  /**
   * Draws the diagrams of formats, unless they are there.
   * @param {import("./types.js").FormatChoice[]} formats
   */
  show(formats) {
    const names = formats.map(({ name }) => name).join();
    if (names === this.#names) return;
    this.#names = names;
    this.#figures = formats.map(({ name, diagram }) => ({
      name,
      states: new Set(diagram.states.map((state) => state.name)),
      title: new Map(diagram.states.map((state) => [state.name, state.title])),
      figure: figure(name, diagram),
    }));
    this.element.replaceChildren(...this.#figures.map(({ figure }) => figure));
  }

  /**
   * Lights up the state of a mode, which has the format's name in front where several live at once.
   * @param {string} mode
   */
  light(mode) {
    for (const { name, states, title, figure } of this.#figures) {
      const inside = mode.startsWith(`${name}.`) ? mode.slice(name.length + 1) : mode;
      const here = stateOf(inside, states);
      for (const group of figure.querySelectorAll("[data-state]")) group.classList.toggle("here", group.getAttribute("data-state") === here);
      for (const path of figure.querySelectorAll("[data-from]")) path.classList.toggle("leads", path.getAttribute("data-from") === here);
      const place = figure.querySelector(".place");
      if (place) place.textContent = here ? `The parser is in: ${title.get(here)}.` : "The parser is in none of these states.";
    }
  }
}

/**
 * The state of a mode: its own, or the one around it.
 * @param {string} mode @param {Set<string>} states
 */
function stateOf(mode, states) {
  for (let name = mode; name; ) {
    if (states.has(name)) return name;
    const shorter = name.replace(/_(call\d+|header)$/, "");
    if (shorter === name) return "";
    name = shorter;
  }
  return "";
}

/** @param {string} name @param {import("./types.js").Diagram} diagram */
function figure(name, diagram) {
  const moves = diagram.moves.map(({ from, to, labels }) => h("li", {}, `${from} to ${to}: ${labels.join(" or ") || "at once"}`));
  return h("figure", { "data-format": name },
    h("figcaption", {}, h("strong", {}, name), " ", h("span", { class: "place" })),
    h("div", { class: "diagram", tabindex: 0, role: "group", "aria-label": `State diagram of ${name}` }, drawing(name, diagram)),
    h("details", {}, h("summary", {}, "Moves as a list"), h("ul", {}, ...moves)));
}

/** @param {string} name @param {import("./types.js").Diagram} diagram */
function drawing(name, diagram) {
  const { items, lines, width, height } = layout(diagram);
  const arrow = `arrow-${++drawn}`;
  const labels = new Map(lines.map((line) => [line.label, line]));
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `States of ${name} and the markers that lead from one to another` },
    s("defs", {}, s("marker", { id: arrow, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path", { d: "M0 0L8 4L0 8z", class: "arrow" }))),
    ...lines.map((line) => s("path", { d: curve(line), class: "move", "marker-end": `url(#${arrow})`, "data-from": line.from })),
    ...items.filter(({ kind }) => kind !== "bend").map((item) => box(item, labels.get(item)?.from, item.name === diagram.start)));
}

/** @param {Item} item @param {string | undefined} from @param {boolean} start */
function box(item, from, start) {
  const { x, y, width, height, lines, kind } = item;
  const top = y - ((lines.length - 1) * 17) / 2 + 4;
  return s("g", { class: `${kind} ${start ? "start" : ""}`, "data-state": kind === "state" ? item.name : null, "data-from": from },
    s("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: kind === "state" ? 8 : 2 }),
    ...lines.map((text, number) => s("text", { x, y: top + number * 17, "text-anchor": "middle" }, text)));
}

/** @param {Line} line */
function curve({ chain }) {
  let path = "";
  chain.slice(1).forEach((to, place) => {
    const from = /** @type {Item} */ (chain[place]);
    const down = from.rank < to.rank;
    const start = { x: port(from, to, down), y: from.y + (down ? 1 : -1) * (from.height / 2) };
    const end = { x: port(to, from, !down), y: to.y + (down ? -1 : 1) * (to.height / 2) };
    const middle = (start.y + end.y) / 2;
    path += place ? `L${start.x} ${start.y}` : `M${start.x} ${start.y}`;
    path += `C${start.x} ${middle} ${end.x} ${middle} ${end.x} ${end.y}`;
  });
  return path;
}

/**
 * Where a line meets an item: lines to the left meet it left of lines to the right.
 * @param {Item} item @param {Item} other @param {boolean} below
 */
function port(item, other, below) {
  if (item.kind !== "state") return item.x;
  const side = (below ? item.down : item.up).filter((each) => each.rank > item.rank === below);
  const sorted = [...side].sort((one, another) => one.x - another.x);
  const place = sorted.indexOf(other);
  const room = Math.min(item.width - 24, sorted.length * 26);
  return item.x + ((place + 0.5) / Math.max(1, sorted.length) - 0.5) * room;
}
