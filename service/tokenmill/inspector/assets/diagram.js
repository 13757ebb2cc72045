// @ts-check
/** A format's state diagram as SVG, with the state in which the parser is lit up. */

import { h, s } from "./dom.js";
import { layout } from "./layout.js";

/** @import {Item, Line} from "./layout.js" */

let drawn = 0;

/** The diagrams of the formats that live at once. */
export class Diagrams {
  element = h("div", { "data-testid": "diagrams" });
  /** @type {FormatChoice[]} */
  #formats = [];

  /** Draws the diagrams of formats, unless they are there. @param {FormatChoice[]} formats */
  show(formats) {
    if (String(formats.map(({ name }) => name)) === String(this.#formats.map(({ name }) => name))) return;
    this.#formats = formats;
    this.element.replaceChildren(...formats.map(({ name, diagram }) => figure(name, diagram)));
  }

  /** Lights up the state of a mode, which may have the format's name in front. @param {string} mode */
  light(mode) {
    this.#formats.forEach(({ name, diagram }, place) => {
      const here = stateOf(mode.startsWith(`${name}.`) ? mode.slice(name.length + 1) : mode, diagram);
      const figure = this.element.children[place];
      for (const each of figure.querySelectorAll("[data-state]")) each.classList.toggle("here", each.getAttribute("data-state") === here?.name);
      for (const each of figure.querySelectorAll("[data-from]")) each.classList.toggle("leads", each.getAttribute("data-from") === here?.name);
      const said = here ? `The parser is in: ${here.title}.` : "The parser is in none of these states.";
      figure.querySelector(".place")?.replaceChildren(said);
    });
  }
}

/** The state of a mode: its own, or the one around it. @param {string} mode @param {Diagram} diagram */
function stateOf(mode, { states }) {
  // Behind a section text follows, or the section comes again.
  const around = mode.replace(/_(header|text)$/, "").replace(/^\w+_again$/, "text");
  const names = [mode, around, around.replace(/_call\d+$/, "")];
  return names.map((name) => states.find((state) => state.name === name)).find(Boolean);
}

/** @param {string} name @param {Diagram} diagram */
function figure(name, diagram) {
  const moves = diagram.moves.map(({ from, to, labels }) => h("li", {}, `${from} to ${to}: ${labels.join(" or ") || "at once"}`));
  return h("figure", { "data-format": name },
    h("figcaption", {}, h("strong", {}, name), " ", h("span", { class: "place" })),
    h("div", { class: "diagram", tabindex: 0, role: "group", "aria-label": `State diagram of ${name}` }, drawing(name, diagram)),
    h("details", {}, h("summary", {}, "Moves as a list"), h("ul", {}, ...moves)));
}

/** @param {string} name @param {Diagram} diagram */
function drawing(name, diagram) {
  const { items, lines, width, height } = layout(diagram);
  const arrow = `arrow-${++drawn}`;
  const from = new Map(lines.map((line) => [line.label, line.from]));
  return s("svg", { width, height, role: "img", "aria-label": `States of ${name}, and what leads from one to another` },
    s("marker", { id: arrow, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path", { d: "M0 0L8 4L0 8z", class: "arrow" })),
    ...lines.map((line) => s("path", { d: curve(line), class: "move", "marker-end": `url(#${arrow})`, "data-from": line.from })),
    ...items.filter(({ lines }) => lines.length).map((item) => box(item, from.get(item), item.name === diagram.start)));
}

/** @param {Item} item @param {string | undefined} from @param {boolean} start */
function box({ x, y, width, height, lines, kind, name }, from, start) {
  const top = y - ((lines.length - 1) * 17) / 2 + 4;
  return s("g", { class: `${kind} ${start ? "start" : ""}`, "data-state": name || null, "data-from": from },
    s("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: name ? 8 : 2 }),
    ...lines.map((text, number) => s("text", { x, y: top + number * 17, "text-anchor": "middle" }, text)));
}

/** @param {Line} line */
function curve({ chain }) {
  return chain.slice(1).map((to, place) => {
    const from = chain[place];
    const side = from.rank < to.rank ? 1 : -1;
    const [x, y] = [port(from, to), from.y + (side * from.height) / 2];
    const [toX, toY] = [port(to, from), to.y - (side * to.height) / 2];
    const middle = (y + toY) / 2;
    return `${place ? "L" : "M"}${x} ${y}C${x} ${middle} ${toX} ${middle} ${toX} ${toY}`;
  }).join("");
}

/** Where a line meets an item: lines to the left meet it left of lines to the right. @param {Item} item @param {Item} other */
function port(item, other) {
  if (!item.name) return item.x;
  const side = item.near.filter(({ rank }) => rank > item.rank === other.rank > item.rank).sort((one, another) => one.x - another.x);
  return item.x + ((side.indexOf(other) + 0.5) / side.length - 0.5) * Math.min(item.width - 24, side.length * 26);
}
