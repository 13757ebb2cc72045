// @ts-check
/** Starts the page: the views, and the fragment that says which of them in which state. */

import { ask, useKey } from "./api.js";
import { Compare } from "./compare.js";
import { h, labelled, rested } from "./dom.js";
import { Live } from "./live.js";
import { Playground } from "./play.js";
import { fragment, fromLink, readFragment, toLink } from "./state.js";

/**
 * A view; `read` gets the fields of a link, or null for what is shown to somebody who comes without one.
 * @typedef {{element: HTMLElement, read: (fields: any) => void, link: () => unknown}} View
 */

/** The views, and which of them is shown. */
class Page {
  /** Views are made when they are first shown. @type {Record<string, View>} */
  #views = {};
  #name = "";

  /** @param {Choices} choices */
  constructor(choices) {
    this.choices = choices;
    /** @type {Record<string, () => View>} */
    this.kinds = { play: () => this.#play(), compare: () => this.#compare(), live: () => new Live("live", choices, () => this.write()) };
    if (choices.file !== null) this.kinds.file = () => this.#file();
    found("tab-file").hidden = choices.file === null;
    // Browsers refuse to be told too often.
    this.write = rested(300, () => history.replaceState(null, "", this.#link()));
    // Between a click on a link and its event, the address may be written once more.
    addEventListener("hashchange", ({ newURL }) => this.#read(new URL(newURL).hash));
    this.#read(location.hash);
  }

  /** Shows what a fragment says. @param {string} hash */
  #read(hash) {
    const { view, fields } = readFragment(hash);
    const name = Object.hasOwn(this.kinds, view) ? view : "file" in this.kinds ? "file" : "play";
    const known = this.#views[name];
    const shown = (this.#views[name] ??= this.kinds[name]());
    this.#name = name;
    for (const each of ["play", "compare", "live", "file"]) {
      found(`view-${each}`).hidden = each !== name;
      found(`tab-${each}`).setAttribute("aria-current", each === name ? "page" : "false");
    }
    if (!known) found(`view-${name}`).append(shown.element);
    if (!known || fields) shown.read(fields);
    this.write();
  }

  #link() {
    const fields = this.#views[this.#name].link();
    return (fields ? fragment(this.#name, fields) : null) ?? `#${this.#name}`;
  }

  /** @param {string} id */
  #playground(id) {
    return new Playground(id, this.choices, {
      changed: this.write,
      compare: (state) => (location.hash = fragment("compare", { a: toLink(state), b: toLink(state) }) ?? "#compare"),
    });
  }

  /** @returns {View} */
  #play() {
    const view = this.#playground("play");
    return { element: view.element, read: (fields) => view.set(this.#state(fields)), link: () => toLink(view.input.state) };
  }

  /** @returns {View} */
  #compare() {
    const view = new Compare("compare", this.choices, this.write);
    return {
      element: view.element,
      read: (fields) => view.set(this.#state(fields?.a), this.#state(fields?.b)),
      link: () => ({ a: toLink(view.left.input.state), b: toLink(view.right.input.state) }),
    };
  }

  /** The records are in no link: whoever gets one has the file. @returns {View} */
  #file() {
    const view = this.#playground("file");
    const loaded = ask("api/file");
    return {
      element: h("div", {}, h("p", {}, "Recording: ", h("strong", { "data-testid": "file-name" }, this.choices.file)), view.element),
      read: (fields) =>
        void loaded.then(
          ({ records, name: _, ...about }) => view.set(fromLink({ codec: "native", ...about, ...fields, records })),
          (problem) => view.asked.say(problem.message),
        ),
      link: () => ({ ...toLink(view.input.state), records: undefined, text: undefined }),
    };
  }

  /** The state of a link; without one, a sample to step through. @param {unknown} fields */
  #state(fields) {
    const { name, sample } = this.choices.formats.find((format) => format.name === "hermes") ?? this.choices.formats[0];
    return fromLink(fields ?? { format: name, text: sample, chunk: 8 });
  }
}

/** @param {string} id */
function found(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Asks for a key where one is needed, and shows the views. */
async function start() {
  try {
    new Page(await ask("api/choices"));
    found("start").remove();
  } catch (problem) {
    const { message, status } = /** @type {Error & {status?: number}} */ (problem);
    found("start").replaceChildren(message, status === 401 ? keyForm() : "");
  }
}

function keyForm() {
  const key = h("input", { id: "key", type: "password", autocomplete: "off" });
  const enter = (/** @type {Event} */ event) => (event.preventDefault(), useKey(key.value), void start());
  return h("form", { class: "bar", submit: enter }, labelled("Key or token", key), h("button", {}, "Enter"));
}

await start();
