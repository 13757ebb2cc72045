// @ts-check
/** The fields of an input: text or a captured stream, formats, codec, dialect, tools, options, finish reason. */

import { button, h, labelled } from "./dom.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Choices} Choices */
/** @typedef {import("./types.js").Choice} Choice */

const REASONS = ["stop", "tool_calls", "length", "content_filter", "error", "cancelled", "timeout"];
// A field with more text than this makes the browser slow; such a source is shown in the strip alone.
const EDITABLE = 300_000;

/** A form that says what changed. */
export class Form {
  #input = "";

  /**
   * @param {string} id @param {Choices} choices @param {(change: Partial<State>) => void} changed
   */
  constructor(id, choices, changed) {
    this.id = id;
    this.choices = choices;
    this.changed = changed;
    this.input = this.#area("input", 8, (text) => this.#typed(text));
    this.tools = this.#area("tools", 6, (tools) => changed({ tools }));
    this.open = this.#area("open", 4, (open) => changed({ open }));
    this.format = this.#select("format", choices.formats, () => this.#formats());
    this.codec = this.#select("codec", [{ name: "", summary: "" }, ...choices.codecs], (codec) => changed({ codec }));
    this.dialect = this.#select("dialect", choices.dialects, (dialect) => changed({ dialect }));
    this.finish = h("input", { id: `${id}-finish`, list: `${id}-reasons`, value: "stop", spellcheck: "false", input: () => changed({ finish: this.finish.value }) });
    this.more = new Others(`${id}-more`, choices.formats, () => this.#formats());
    this.about = h("p", { class: "hint", id: `${id}-about` });
    this.large = h("p", { class: "hint", hidden: true });
    this.inputLabel = h("label", { for: this.input.id }, "Model text");
    this.element = this.#layout();
  }

  /**
   * Shows a state.
   * @param {State} state
   */
  show(state) {
    this.#showInput(state.input);
    this.tools.value = state.tools;
    this.open.value = state.open;
    choose(this.format, state.formats[0] ?? "plain");
    choose(this.codec, state.codec);
    choose(this.dialect, state.dialect);
    this.finish.value = state.finish;
    this.more.choose(state.formats.slice(1));
    this.explain(state);
  }

  /**
   * Shows what depends on the state: names and summaries.
   * @param {State} state
   */
  explain(state) {
    this.inputLabel.textContent = state.codec ? "Captured stream, a record a line" : "Model text";
    const about = this.choices.formats.find(({ name }) => name === state.formats[0]);
    this.about.textContent = about?.summary ?? "";
  }

  /** @param {string} text */
  #showInput(text) {
    const large = text.length > EDITABLE;
    this.#input = text;
    this.input.value = large ? "" : text;
    this.input.readOnly = large;
    this.large.hidden = !large;
    this.large.textContent = `${text.length.toLocaleString("en")} characters: too many to edit here. The strip shows them.`;
  }

  /** @param {string} text */
  #typed(text) {
    if (!this.input.readOnly) this.changed({ input: (this.#input = text) });
  }

  #formats() {
    this.changed({ formats: [this.format.value, ...this.more.chosen().filter((name) => name !== this.format.value)] });
  }

  #sample() {
    const sample = this.choices.formats.find(({ name }) => name === this.format.value)?.sample ?? "";
    this.#showInput(sample);
    this.codec.value = "";
    this.changed({ input: sample, codec: "", cuts: null, chunk: 0 });
  }

  /** @param {File | undefined} file */
  async #file(file) {
    if (!file) return;
    const text = await file.text();
    this.#showInput(text);
    this.changed({ input: text, cuts: null, chunk: 0 });
  }

  #layout() {
    const file = h("input", { type: "file", id: `${this.id}-file`, change: () => void this.#file(file.files?.[0]) });
    const json = h("details", {}, h("summary", {}, "Tools and options"),
      labelled("Tools, a JSON list as in OpenAI's API", this.tools), labelled("Options of the message, a JSON object", this.open));
    const drop = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (event.type === "drop") void this.#file(event.dataTransfer.files[0]);
    };
    return h("div", { class: "form", id: `${this.id}-form`, dragover: drop, drop },
      h("div", { class: "field input" }, this.inputLabel, this.input, this.large,
        h("div", { class: "bar" }, button("Sample of the format", () => this.#sample(), { id: `${this.id}-sample` }), labelled("From a file", file))),
      h("div", { class: "fields" },
        labelled("Format", this.format), this.about, this.more.element,
        labelled("Codec", this.codec), labelled("Dialect", this.dialect), labelled("Finish reason", this.finish),
        h("datalist", { id: `${this.id}-reasons` }, ...REASONS.map((reason) => h("option", { value: reason }))), json));
  }

  /** @param {string} name @param {number} rows @param {(text: string) => void} typed */
  #area(name, rows, typed) {
    const area = h("textarea", { id: `${this.id}-${name}`, rows, spellcheck: "false", autocomplete: "off", input: () => typed(area.value) });
    return area;
  }

  /** @param {string} name @param {Choice[]} choices @param {(value: string) => void} changed */
  #select(name, choices, changed) {
    const options = choices.map((choice) => h("option", { value: choice.name, title: choice.summary }, choice.name || "none: model text"));
    const select = h("select", { id: `${this.id}-${name}`, change: () => changed(select.value) }, ...options);
    return select;
  }
}

/** Formats that live beside the first one. The boxes are made when somebody opens the list. */
class Others {
  /** @type {Set<string>} */
  #names = new Set();

  /** @param {string} id @param {Choice[]} formats @param {() => void} changed */
  constructor(id, formats, changed) {
    this.formats = formats;
    this.title = h("summary", {});
    this.boxes = h("div", { class: "boxes", role: "group", "aria-label": "More formats", tabindex: 0 });
    this.element = h("details", { id, toggle: () => this.element.open && this.#fill() }, this.title, this.boxes);
    this.boxes.addEventListener("change", (event) => {
      const { value, checked } = /** @type {HTMLInputElement} */ (event.target);
      if (checked) this.#names.add(value);
      else this.#names.delete(value);
      this.#entitle();
      changed();
    });
    this.#entitle();
  }

  chosen() {
    return [...this.#names];
  }

  /** @param {string[]} names */
  choose(names) {
    this.#names = new Set(names);
    this.#entitle();
    if (this.element.open) this.#fill();
  }

  #entitle() {
    this.title.textContent = `More formats at once: ${this.chosen().join(", ") || "none"}`;
  }

  #fill() {
    this.boxes.replaceChildren(...this.formats.map(({ name }) =>
      h("label", {}, h("input", { type: "checkbox", value: name, checked: this.#names.has(name) }), name)));
  }
}

/**
 * Chooses an option; one that a link names and nobody knows is added, so that the server can say what is wrong.
 * @param {HTMLSelectElement} select @param {string} value
 */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
  select.value = value;
}
