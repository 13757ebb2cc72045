// @ts-check
/** From a place on the screen to a position in the source strip. */

import { countPoints } from "./points.js";

/** The position between characters that is nearest to a place, or null outside of the text. @param {number} x @param {number} y */
export function positionAt(x, y) {
  const { offsetNode: node, offset } = document.caretPositionFromPoint(x, y) ?? {};
  const run = (node instanceof Element ? node : node?.parentElement)?.closest("[data-at]");
  if (!run) return null;
  const { left, width } = run.getBoundingClientRect();
  const within = run.matches(".escape") ? Number(x > left + width / 2) : countPoints((run.textContent ?? "").slice(0, offset));
  return Number(run.getAttribute("data-at")) + within;
}
