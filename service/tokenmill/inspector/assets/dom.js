// @ts-check
/** Makes elements. Text only ever becomes text nodes, so nothing that a model wrote is read as HTML. */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/** An HTML element; an attribute that is a function listens to the event of its name.
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element.
 * @template {keyof SVGElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** @template {Element} E @param {E} element @param {Attributes} attributes @param {Child[]} children */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Other children; those that stay keep the focus. @param {Element} parent @param {Element[]} elements */
export function sync(parent, elements) {
  for (const child of [...parent.children]) if (!elements.includes(child)) child.remove();
  elements.forEach((element, place) => {
    if (parent.children[place] !== element) parent.insertBefore(element, parent.children[place] ?? null);
  });
}

/** A field with its label in front. @param {string} text @param {HTMLElement} field */
export function labelled(text, field) {
  return h("div", { class: "field" }, h("label", { for: field.id }, text), field);
}

/** A button that does something. @param {string} text @param {() => void} press @param {string} [id] */
export function button(text, press, id) {
  return h("button", { type: "button", click: press, id }, text);
}

/** A number with its noun. @param {number} number @param {string} noun */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A function that does the work once a frame. @param {() => void} work */
export function perFrame(work) {
  let waiting = false;
  return () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), work()));
    waiting = true;
  };
}

/** A function that does the work at most once in so long. @param {number} milliseconds @param {() => void} work */
export function paced(milliseconds, work) {
  let timer = 0;
  return () => {
    timer ||= window.setTimeout(() => ((timer = 0), work()), milliseconds);
  };
}

/** A function that does the work once its calls rest. @param {number} milliseconds @param {() => void} work */
export function rested(milliseconds, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(work, milliseconds);
  };
}
