// @ts-check
/** JSON with integers of any length: those that a number of JavaScript can't hold become BigInts, and are written as they came. */

const LONG = /\d{16}/;

/** The value of a JSON text. Throws for what is not JSON. @param {string} text @returns {any} */
export function parse(text) {
  // A reviver takes much longer, and few texts need it.
  return LONG.test(text) ? JSON.parse(text, /** @type {any} */ (exact)) : JSON.parse(text);
}

/** @param {string} _name @param {unknown} value @param {{source?: string}} [context] browsers from before 2025 have none */
function exact(_name, value, context) {
  const source = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** @type {any} */ (BigInt.prototype).toJSON = function () {
  return /** @type {any} */ (JSON).rawJSON(String(this));
};
