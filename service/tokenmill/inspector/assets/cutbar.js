// @ts-check
/** The tools that cut a text: at random, in pieces of a size, at a position, not at all. */

import { button, h, labelled } from "./dom.js";

/**
 * @typedef {{random: (pieces: number) => void, every: (size: number) => void, at: (position: number) => void,
 *   none: () => void}} Cutting
 */

/**
 * A toolbar for cuts.
 * @param {string} id @param {Cutting} cutting
 */
export function cutbar(id, cutting) {
  return h(
    "div",
    { class: "bar cutbar", role: "group", "aria-label": "Cuts" },
    ...numbered(`${id}-random`, "Number of pieces", 5, "Cut at random", cutting.random),
    ...numbered(`${id}-every`, "Characters in a piece", 1, "Pieces of this size", cutting.every),
    ...numbered(`${id}-at`, "Position", 1, "Cut here", cutting.at),
    button("Remove all cuts", cutting.none, { id: `${id}-none` }),
  );
}

/**
 * @param {string} id @param {string} label @param {number} value @param {string} name @param {(number: number) => void} press
 */
function numbered(id, label, value, name, press) {
  const field = h("input", { type: "number", id, min: 1, value, class: "number" });
  const go = () => {
    const number = Math.floor(field.valueAsNumber);
    if (number > 0) press(number);
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && go());
  return [h("div", { class: "pair" }, labelled(label, field), button(name, go, { id: `${id}-go` }))];
}
