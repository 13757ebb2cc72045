// @ts-check
/** What a view holds, as a fragment, which stays in the browser, and as a request. */

import { every, inOrder } from "./cuts.js";
import { parse } from "./json.js";
import { Points } from "./points.js";

const LONGEST_LINK = 1_000_000;

/** The fields of a link: those of a request, and the step, as far as they are not as by default. @param {State} state */
export function toLink({ input, formats, ...others }) {
  const usual = /** @type {Record<string, unknown>} */ (fromLink({}));
  const fields = Object.entries(others).filter(([name, value]) => String(value) !== String(usual[name]));
  return { format: oneOrMany(formats), [others.codec ? "records" : "text"]: input, ...Object.fromEntries(fields) };
}

/** @typedef {State & {choice?: number}} Chosen With the choice of a captured stream that has several. */

/** The state of a link, which comes from anywhere. @param {any} fields @returns {Chosen} */
export function fromLink(fields) {
  const { format, text, records, codec, choice, dialect, tools, open, finish, cuts, chunk, step } = fields;
  const formats = [format].flat().filter((name) => name && typeof name === "string");
  return {
    input: textOf(records ?? text ?? ""),
    codec: textOf(codec ?? (records === undefined ? "" : "native")),
    choice: choice > 0 ? Math.floor(Number(choice)) : 0,
    formats: formats.length ? formats : ["plain"],
    dialect: textOf(dialect ?? "native"),
    tools: textOf(tools ?? ""),
    open: textOf(open ?? ""),
    finish: textOf(finish ?? "stop"),
    cuts: Array.isArray(cuts) ? inOrder(cuts.filter(Number.isInteger), Infinity) : null,
    chunk: chunk > 0 ? Math.floor(Number(chunk)) : 0,
    step: step > 0 ? Math.floor(Number(step)) : 0,
  };
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** A fragment for a view; null where it would be too long. @param {string} view @param {unknown} fields */
export function fragment(view, fields) {
  const text = `#${view}=${encodeURIComponent(JSON.stringify(fields))}`;
  return text.length <= LONGEST_LINK ? text : null;
}

/** The view and the fields of a fragment; null where there are none to be read. @param {string} hash */
export function readFragment(hash) {
  const [view, text = "null"] = hash.slice(1).split("=");
  try {
    const fields = parse(decodeURIComponent(text));
    return { view, fields: typeof fields === "object" ? fields : null };
  } catch {
    return { view, fields: null };
  }
}

/** The body of a request. Throws where tools or options are not JSON. @param {Chosen} state */
export function toRequest(state) {
  const { formats, codec, choice, input, dialect, finish, cuts, chunk } = state;
  const body = { format: oneOrMany(formats), dialect, finish, ...jsonFields(state) };
  if (codec) return { ...body, records: input, codec, choice };
  return { ...body, text: input, ...(cuts ? { cuts: cutsOf(state, new Points(input)) } : chunk ? { chunk } : {}) };
}

/** Where the text of a state is cut. @param {State} state @param {Points} points */
export function cutsOf({ cuts, chunk }, { length }) {
  return cuts ? inOrder(cuts, length) : every(length, chunk);
}

/** Tools and options as JSON values. Throws where they are none. @param {State} state @returns {Record<string, unknown>} */
export function jsonFields({ tools, open }) {
  return Object.fromEntries(Object.entries({ tools, open }).filter(([, text]) => text.trim()).map(([name, text]) => {
    try {
      return [name, parse(text)];
    } catch (problem) {
      throw new Error(`The ${name === "open" ? "options" : name} are not JSON: ${/** @type {Error} */ (problem).message}`);
    }
  }));
}

/** One name, or a list of several. @param {string[]} names */
export function oneOrMany(names) {
  return names.length === 1 ? names[0] : names;
}
