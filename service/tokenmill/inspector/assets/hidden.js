// @ts-check
/** Characters that one can't see are shown as boxes, so that nothing a model wrote is hidden. */

import { h } from "./dom.js";

// Control, format (zero-width, bidi, tags), private, unassigned, halves of pairs; all spaces but one; fillers and variant
// selectors; a braille pattern and a note head without ink.
const ODD = "[[\\p{C}\\p{Z}\\p{DI}\\u2800\\u{1d159}]--\\x20]";
const HIDDEN = new RegExp(ODD, "v");
const SPLIT = new RegExp(`((?![\\n\\t])${ODD})`, "v");
/** @type {Record<number, string>} */
const SIGNS = { 9: "⇥", 10: "↵", 13: "␍" };

/** What is shown in place of a character, or an empty string if it shows itself. @param {number} character */
export function escapeOf(character) {
  if (character > 31 && character < 127) return "";
  return SIGNS[character] ?? (HIDDEN.test(String.fromCodePoint(character)) ? numberOf(character) : "");
}

/** @param {number | undefined} character */
function numberOf(character) {
  return `U+${character?.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Text to be read, with boxes for what can't be seen; line breaks and tabs are as they are. @param {string} text */
export function shown(text) {
  const fragment = document.createDocumentFragment();
  text.split(SPLIT).forEach((part, place) => {
    fragment.append(place % 2 ? h("span", { class: "escape" }, numberOf(part.codePointAt(0))) : part);
  });
  return fragment;
}

/** Text in one line, for labels and lists. @param {string} text */
export function plainly(text) {
  return [...text].map((character) => escapeOf(Number(character.codePointAt(0))) || character).join("");
}

/** JSON in which what can't be seen is written as escapes. @param {string} json */
export function escaped(json) {
  const unit = (/** @type {string} */ each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.split(SPLIT).map((part, place) => (place % 2 ? part.split("").map(unit).join("") : part)).join("");
}
