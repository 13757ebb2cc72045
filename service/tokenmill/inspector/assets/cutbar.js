// @ts-check
/** The tools that cut a text: at random, in pieces of a size, at a position, not at all. */

import { button, h, labelled } from "./dom.js";

/** @typedef {(number: number) => void} Cut */

/** A toolbar for cuts. @param {string} id @param {{random: Cut, every: Cut, at: Cut, none: () => void}} cut */
export function cutbar(id, cut) {
  /** @param {string} name @param {string} label @param {number} value @param {string} title @param {Cut} press */
  const numbered = (name, label, value, title, press) => {
    const field = h("input", { type: "number", id: `${id}-${name}`, min: 1, value });
    const go = () => void (field.valueAsNumber >= 1 && press(Math.floor(field.valueAsNumber)));
    return h("div", { class: "pair" }, labelled(label, field), button(title, go, `${field.id}-go`));
  };
  return h("div", { class: "bar", role: "group", "aria-label": "Cuts" },
    numbered("random", "Number of pieces", 5, "Cut at random", cut.random),
    numbered("every", "Characters in a piece", 1, "Pieces of this size", cut.every),
    numbered("at", "Position", 1, "Cut here", cut.at),
    button("Remove all cuts", cut.none, `${id}-none`));
}
