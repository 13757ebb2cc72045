// @ts-check
/** From a place on the screen to a position in the source strip. */

import { countPoints } from "./points.js";

/**
 * The position between characters that is nearest to a place, or null outside of the text.
 * @param {HTMLElement} strip @param {number} x @param {number} y
 * @returns {number | null}
 */
export function positionAt(strip, x, y) {
  const caret = caretAt(x, y);
  const element = caret && (caret.node instanceof Element ? caret.node : caret.node.parentElement);
  const run = element?.closest("[data-at]");
  if (!caret || !run || !strip.contains(run)) return atEdge(strip, x, y);
  const at = Number(run.getAttribute("data-at"));
  const text = run.textContent ?? "";
  if (run.hasAttribute("data-one")) return at + (behindMiddle(run, x) ? 1 : 0);
  return at + countPoints(text.slice(0, caret.node instanceof Text ? caret.offset : 0));
}

/** @param {number} x @param {number} y */
function caretAt(x, y) {
  const caret = document.caretPositionFromPoint?.(x, y);
  if (caret) return { node: caret.offsetNode, offset: caret.offset };
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}

/** @param {Element} element @param {number} x */
function behindMiddle(element, x) {
  const { left, width } = element.getBoundingClientRect();
  return x > left + width / 2;
}

/**
 * The beginning or end of the row at a height.
 * @param {HTMLElement} strip @param {number} x @param {number} y
 */
function atEdge(strip, x, y) {
  const row = [...strip.querySelectorAll(".row")].find((each) => {
    const { top, bottom } = each.getBoundingClientRect();
    return y >= top && y < bottom;
  });
  const runs = row?.querySelectorAll("[data-at]");
  const last = runs?.[runs.length - 1];
  if (!row || !last) return null;
  if (x < row.getBoundingClientRect().left + 16) return Number(row.getAttribute("data-from"));
  const length = last.hasAttribute("data-one") ? 1 : countPoints(last.textContent ?? "");
  // Behind a line break is the next row already.
  return Number(last.getAttribute("data-at")) + (last.textContent === "↵" ? 0 : length);
}
