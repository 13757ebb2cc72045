// @ts-check
/** Long values: their beginning, and the rest on demand, a piece per frame; or all at once. */

import { button, h } from "./dom.js";
import { shown } from "./hidden.js";

const LIMIT = 4096;

/** Text as a block, cut at 4 kB with a button that shows the rest, or whole. @param {string} text @param {string} [className] @param {boolean} [whole] */
export function longText(text, className = "", whole = false) {
  const block = h("div", { class: `long ${className}` }, shown(whole ? text : text.slice(0, cutAt(text))));
  if (whole || text.length <= LIMIT) return block;
  const more = button(`Show all ${text.length.toLocaleString("en")} characters`, () => {
    more.remove();
    block.setAttribute("tabindex", "-1");
    block.focus();
    showRest(block, text.slice(cutAt(text)));
  });
  return h("div", {}, block, more);
}

/** @param {HTMLElement} block @param {string} rest */
function showRest(block, rest) {
  if (!rest) return;
  const end = cutAt(rest);
  block.append(h("span", { class: "piece" }, shown(rest.slice(0, end))));
  requestAnimationFrame(() => showRest(block, rest.slice(end)));
}

/** Where to cut: behind a line break if there is one, never inside of a pair. @param {string} text */
function cutAt(text) {
  if (text.length <= LIMIT) return text.length;
  const line = text.lastIndexOf("\n", LIMIT - 1) + 1;
  if (line > LIMIT / 2) return line;
  return /[\ud800-\udbff]/.test(text.charAt(LIMIT - 1)) ? LIMIT - 1 : LIMIT;
}
