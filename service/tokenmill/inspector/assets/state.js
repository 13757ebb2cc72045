// @ts-check
/** What a view holds, as a fragment of the page's address and as a request. The fragment stays in the browser. */

import { Points } from "./points.js";
import { every, inOrder } from "./cuts.js";

/** @typedef {import("./types.js").State} State */

/** What cannot be asked as it was typed. */
export class Unreadable extends Error {}

const LONGEST_LINK = 1_000_000;

/**
 * A view that nobody has touched.
 * @returns {State}
 */
export function empty() {
  return {
    input: "", codec: "", formats: ["plain"], dialect: "native", tools: "", open: "", finish: "stop",
    cuts: null, chunk: 0, step: 0,
  };
}

/**
 * The fields of a link: those of a request, and the step; what is as by default is left out.
 * @param {State} state
 */
export function toLink(state) {
  /** @type {Record<string, unknown>} */
  const fields = { format: oneOrMany(state.formats), [state.codec ? "records" : "text"]: state.input };
  if (state.codec) fields.codec = state.codec;
  if (state.dialect !== "native") fields.dialect = state.dialect;
  if (state.tools.trim()) fields.tools = state.tools;
  if (state.open.trim()) fields.open = state.open;
  if (state.finish !== "stop") fields.finish = state.finish;
  if (state.cuts?.length) fields.cuts = state.cuts;
  else if (!state.cuts && state.chunk) fields.chunk = state.chunk;
  if (state.step) fields.step = state.step;
  return fields;
}

/**
 * The state that a link holds. A link comes from anywhere, so what is not of the right type is left out.
 * @param {unknown} given
 * @returns {State}
 */
export function fromLink(given) {
  const fields = /** @type {Record<string, any>} */ (given && typeof given === "object" ? given : {});
  const state = empty();
  const formats = [fields.format].flat().filter((name) => typeof name === "string" && name);
  if (formats.length) state.formats = formats;
  for (const name of /** @type {const} */ (["codec", "dialect", "finish"])) {
    if (typeof fields[name] === "string") state[name] = fields[name];
  }
  state.input = textOf(fields.records ?? fields.text);
  if (fields.records !== undefined && !state.codec) state.codec = "native";
  state.tools = textOf(fields.tools);
  state.open = textOf(fields.open);
  if (Array.isArray(fields.cuts)) state.cuts = inOrder(fields.cuts.filter(Number.isInteger), Infinity);
  state.chunk = naturalOf(fields.chunk);
  state.step = naturalOf(fields.step);
  return state;
}

/** @param {unknown} value */
function textOf(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** @param {unknown} value */
function naturalOf(value) {
  return Number.isInteger(value) && Number(value) > 0 ? Number(value) : 0;
}

/**
 * A fragment for a view, or null where it would be too long for an address.
 * @param {string} view @param {unknown} fields
 */
export function fragment(view, fields) {
  const text = `#${view}=${encodeURIComponent(JSON.stringify(fields))}`;
  return text.length <= LONGEST_LINK ? text : null;
}

/**
 * The view and the fields of a fragment.
 * @param {string} hash
 * @returns {{view: string, fields: unknown}}
 */
export function readFragment(hash) {
  const [, view = "", text = ""] = /^#?([a-z]*)=?([^]*)$/.exec(hash) ?? [];
  try {
    return { view, fields: text ? JSON.parse(decodeURIComponent(text)) : null };
  } catch {
    return { view, fields: null };
  }
}

/**
 * The body of a request. Throws `Unreadable` where tools or options are not JSON.
 * @param {State} state
 */
export function toRequest(state) {
  /** @type {Record<string, unknown>} */
  const body = { format: oneOrMany(state.formats), dialect: state.dialect, finish: state.finish, ...jsonFields(state) };
  if (state.codec) return { ...body, records: state.input, codec: state.codec };
  body.text = state.input;
  if (state.cuts) body.cuts = cutsOf(state);
  else if (state.chunk) body.chunk = state.chunk;
  return body;
}

/**
 * Where the text of a state is cut.
 * @param {State} state @param {Points} [points]
 */
export function cutsOf(state, points = new Points(state.input)) {
  return state.cuts ? inOrder(state.cuts, points.length) : every(points.length, state.chunk);
}

/**
 * Tools and options as JSON values. Throws `Unreadable` where they are none.
 * @param {State} state
 */
export function jsonFields(state) {
  /** @type {Record<string, unknown>} */
  const fields = {};
  for (const [name, title] of /** @type {const} */ ([["tools", "The tools are"], ["open", "The options are"]])) {
    if (!state[name].trim()) continue;
    try {
      fields[name] = JSON.parse(state[name]);
    } catch (problem) {
      throw new Unreadable(`${title} not JSON: ${/** @type {Error} */ (problem).message}`);
    }
  }
  return fields;
}

/** @param {string[]} names */
export function oneOrMany(names) {
  return names.length === 1 ? names[0] : names;
}
