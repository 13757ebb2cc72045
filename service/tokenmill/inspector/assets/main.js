// @ts-check
/** Starts the page: what there is to choose from, the views, and the fragment that says which of them in which state. */

import { ask } from "./api.js";
import { Compare } from "./compare.js";
import { h } from "./dom.js";
import { Playground } from "./play.js";
import { empty, fragment, fromLink, readFragment, toLink } from "./state.js";
import { Tabs } from "./tabs.js";
import { rested } from "./timing.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Choices} Choices */
/**
 * A view; `read` gets the fields of a link, or null for what is shown to somebody who comes without one.
 * @typedef {{element: HTMLElement, read: (fields: unknown) => void, link: () => unknown}} View
 */

const WRITTEN = 300;

/** The views, and which of them is shown. */
class Page {
  /** @type {Map<string, () => View>} */
  #kinds = new Map();
  /** Views are made when they are first shown. @type {Map<string, View>} */
  #views = new Map();
  #name = "";

  /** @param {Choices} choices */
  constructor(choices) {
    this.choices = choices;
    this.tabs = new Tabs(found("tabs"), found("views"), (name) => this.#go(name));
    /** Writes the fragment once the changes rest: browsers refuse to be told too often. */
    this.write = rested(WRITTEN, () => this.#write());
    this.#add("play", "Playground", () => this.#play());
    this.#add("compare", "Compare", () => this.#compare());
    if (choices.file !== null) this.#add("file", "Recording", () => this.#file());
    addEventListener("hashchange", () => this.read());
    this.read();
  }

  /** Shows what the fragment says. */
  read() {
    const { view, fields } = readFragment(location.hash);
    const name = this.#kinds.has(view) ? view : this.choices.file === null ? "play" : "file";
    this.#show(name, fields);
  }

  /** @param {string} name @param {string} title @param {() => View} make */
  #add(name, title, make) {
    this.#kinds.set(name, make);
    this.tabs.add(name, title);
  }

  /** @param {string} name @param {unknown} [fields] */
  #show(name, fields = null) {
    this.#name = name;
    this.tabs.show(name);
    const known = this.#views.get(name);
    const view = known ?? /** @type {() => View} */ (this.#kinds.get(name))();
    this.#views.set(name, view);
    if (!known) this.tabs.fill(name, view.element);
    if (!known || fields) view.read(fields);
  }

  /** @param {string} name */
  #go(name) {
    if (name === this.#name) return;
    this.#write();
    this.#show(name);
    const link = fragment(name, this.#views.get(name)?.link());
    history.pushState(null, "", link ?? `#${name}`);
  }

  #write() {
    const link = fragment(this.#name, this.#views.get(this.#name)?.link());
    history.replaceState(null, "", link ?? `#${this.#name}`);
  }

  /** @returns {View} */
  #play() {
    const view = new Playground("play", this.choices, { changed: this.write, compare: (state) => this.#compareWith(state) });
    return {
      element: view.element,
      read: (fields) => view.set(fields ? fromLink(fields) : this.#first()),
      link: () => toLink(view.input.state),
    };
  }

  /** @returns {View} */
  #compare() {
    const view = new Compare("compare", this.choices, this.write);
    const side = (/** @type {unknown} */ fields) => (fields ? fromLink(fields) : this.#first());
    return {
      element: view.element,
      read: (/** @type {any} */ fields) => view.set(side(fields?.a), side(fields?.b)),
      link: () => ({ a: toLink(view.left.input.state), b: toLink(view.right.input.state) }),
    };
  }

  /** @returns {View} */
  #file() {
    const view = new Playground("file", this.choices, { changed: this.write, compare: (state) => this.#compareWith(state) });
    const name = h("p", {}, "Recording: ", h("strong", { "data-testid": "file-name" }, this.choices.file));
    /** @type {Promise<any> | null} */
    let loaded = null;
    const read = async (/** @type {any} */ fields) => {
      try {
        const { records, name: _, ...about } = await (loaded ??= ask("api/file"));
        view.set(fromLink({ codec: "native", ...about, ...fields, records }));
      } catch (problem) {
        view.asked.say(/** @type {Error} */ (problem).message);
      }
    };
    return {
      element: h("div", {}, name, view.element),
      read: (fields) => void read(fields),
      link: () => ({ ...toLink(view.input.state), records: undefined, text: undefined }),
    };
  }

  /** @param {State} state */
  #compareWith(state) {
    const link = toLink(state);
    this.#write();
    this.#show("compare", { a: link, b: link });
    history.pushState(null, "", fragment("compare", { a: link, b: link }) ?? "#compare");
  }

  /** What somebody sees who comes without a link: a sample, so that there is something to step through. */
  #first() {
    const format = this.choices.formats.find(({ name }) => name === "hermes") ?? this.choices.formats[0];
    return { ...empty(), formats: [format?.name ?? "plain"], input: format?.sample ?? "", chunk: 8 };
  }
}

/** @param {string} id */
function found(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no ${id}.`);
  return element;
}

try {
  new Page(await ask("api/choices"));
  found("start").remove();
} catch (problem) {
  found("start").textContent = /** @type {Error} */ (problem).message;
}
