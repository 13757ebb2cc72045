// @ts-check
/** JSON whose numbers are written as they came. One that JavaScript would write otherwise becomes a `String` object of its digits: it stays one on its way between threads. To compare it or to add it, take its `Number()`. */

// Many digits, a decimal near zero, a zero at the end of a decimal, an exponent, a negative zero.
const ODD = /\d[\d.]{15}|\.000000|(?:^|[\s:,[])(?:-0|-?\d+\.\d*0|-?\d+(?:\.\d+)?[eE][-+]?\d+)(?=[\s,\]}]|$)/;

/** The value of a JSON text. Throws for what is not JSON. @param {string} text @returns {any} */
export function parse(text) {
  // A reviver takes twice as long, and few texts need it.
  return ODD.test(text) ? JSON.parse(text, /** @type {any} */ (exact)) : JSON.parse(text);
}

/** @param {string} _name @param {unknown} value @param {{source?: string}} [context] browsers from before 2025 have none */
function exact(_name, value, { source } = {}) {
  return typeof value === "number" && source !== undefined && String(value) !== source ? new String(source) : value;
}

// Called for objects, never for plain strings.
/** @type {any} */ (String.prototype).toJSON = function () {
  return /** @type {any} */ (JSON).rawJSON(String(this));
};
