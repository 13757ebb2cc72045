// @ts-check
/** Makes elements. Text only ever becomes text nodes, so nothing that a model wrote is read as HTML. */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element; an attribute that is a function listens to the event of its name.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element @param {Attributes} attributes @param {Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

/**
 * Adds children; text becomes text nodes, nothing is left out but null, undefined and false.
 * @param {Node} parent @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Makes `elements` the children of a parent. Those that stay are not touched, so the focus stays in them.
 * @param {Element} parent @param {Element[]} elements
 */
export function sync(parent, elements) {
  elements.forEach((element, place) => {
    const there = parent.children[place];
    if (there === element) return;
    if (there && !elements.includes(there)) there.replaceWith(element);
    else parent.insertBefore(element, there ?? null);
  });
  while (parent.children.length > elements.length) parent.lastElementChild?.remove();
}

/**
 * A field with its label in front.
 * @param {string} text @param {HTMLElement} field @param {string} [hint]
 */
export function labelled(text, field, hint) {
  const note = hint ? h("span", { class: "hint", id: `${field.id}-hint` }, hint) : null;
  if (note) field.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: field.id }, text), field, note);
}

/**
 * A button that does something.
 * @param {string} text @param {() => void} press @param {Attributes} [attributes]
 */
export function button(text, press, attributes = {}) {
  return h("button", { type: "button", click: press, ...attributes }, text);
}
