// @ts-check
/** Starts a saved page: the live view over the lines that the page has in itself. */

import { parse } from "./json.js";
import { Live } from "./live.js";

const AT_ONCE = 2000;

const lines = (document.getElementById("recording")?.textContent ?? "").split("\n").filter(Boolean);
const view = new Live("live", { formats: [], codecs: [], dialects: [], file: null, live: false, words: false }, () => {}, true);
document.querySelector("main")?.append(view.element);

/** @param {number} first */
function take(first) {
  view.take(lines.slice(first, first + AT_ONCE).map(parse));
  if (first < lines.length) requestAnimationFrame(() => take(first + AT_ONCE));
}
take(0);
