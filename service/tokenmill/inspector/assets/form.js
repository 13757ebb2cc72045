// @ts-check
/** The fields of an input: text or a captured stream, formats, codec, dialect, tools, options, finish reason. */

import { button, count, h, labelled } from "./dom.js";

/** @import {Chosen} from "./state.js" */

// More text than this makes a field slow; the strip alone shows it.
const EDITABLE = 50_000;

/** A form that says what changed. */
export class Form {
  /** @param {string} id @param {Choices} choices @param {(change: Partial<Chosen>) => void} changed */
  constructor(id, choices, changed) {
    this.id = id;
    this.choices = choices;
    this.changed = changed;
    this.input = this.#area("input", 8);
    this.tools = this.#area("tools", 6);
    this.open = this.#area("open", 4);
    this.format = this.#select("format", choices.formats, () => this.#formats());
    this.codec = this.#select("codec", [{ name: "", summary: "" }, ...choices.codecs], (codec) => changed({ codec }));
    this.choice = h("input", { type: "number", id: `${id}-choice`, min: 0, input: () => changed({ choice: this.choice.valueAsNumber || 0 }) });
    this.which = labelled("Choice of the stream", this.choice);
    this.dialect = this.#select("dialect", choices.dialects, (dialect) => changed({ dialect }));
    this.finish = h("input", { id: `${id}-finish`, spellcheck: "false", input: () => changed({ finish: this.finish.value }) });
    this.more = h("details", { id: `${id}-more`, toggle: () => this.#boxes(), change: () => this.#formats() }, h("summary"));
    this.about = h("p", { class: "hint" });
    this.large = h("p", { class: "hint" });
    this.label = h("label", { for: this.input.id });
    this.element = this.#layout();
  }

  /** Shows a state. @param {Chosen} state */
  show(state) {
    const { input } = state;
    this.input.readOnly = input.length > EDITABLE;
    this.input.value = this.input.readOnly ? "" : input;
    this.large.textContent = this.input.readOnly ? `${count(input.length, "character")}: too many to edit here. The strip shows them.` : "";
    for (const name of /** @type {const} */ (["tools", "open", "finish"])) this[name].value = state[name];
    this.choice.value = String(state.choice ?? 0);
    choose(this.format, state.formats[0]);
    choose(this.codec, state.codec);
    choose(this.dialect, state.dialect);
    this.more.open = false;
    this.more.querySelector("div")?.remove(); // it is filled anew
    this.explain(state);
  }

  /** Says what the state means. @param {State} state */
  explain({ codec, formats }) {
    this.label.textContent = codec ? "Captured stream, a record a line" : "Model text";
    this.which.hidden = !codec;
    this.about.textContent = this.#about(formats[0])?.summary ?? "";
    this.others = formats.slice(1);
    if (this.more.firstChild) this.more.firstChild.textContent = `More formats at once: ${this.others.join(", ") || "none"}`;
  }

  /** @param {string} format */
  #about(format) {
    return this.choices.formats.find(({ name }) => name === format);
  }

  /** The boxes are made when somebody opens the list. */
  #boxes() {
    if (!this.more.open || this.more.querySelector("div")) return;
    const boxes = this.choices.formats.map(({ name }) =>
      h("label", {}, h("input", { type: "checkbox", value: name, checked: this.others?.includes(name) }), name));
    this.more.append(h("div", { class: "boxes", role: "group", "aria-label": "More formats", tabindex: 0 }, ...boxes));
  }

  #formats() {
    const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (this.more.querySelectorAll("input:checked"));
    const others = this.more.querySelector("div") ? [...boxes].map(({ value }) => value) : this.others ?? [];
    this.changed({ formats: [...new Set([this.format.value, ...others])] });
  }

  /** @param {File | undefined} file */
  async #file(file) {
    if (file) this.changed({ input: await file.text(), cuts: null, chunk: 0 });
  }

  #layout() {
    const sample = () => this.changed({ input: this.#about(this.format.value)?.sample ?? "", codec: "", cuts: null, chunk: 0 });
    const file = h("input", { type: "file", id: `${this.id}-file`, change: () => void this.#file(file.files?.[0]) });
    return h("div", { class: "form" },
      h("div", { class: "field" }, this.label, this.input, this.large,
        h("div", { class: "bar" }, button("Sample of the format", sample, `${this.id}-sample`), labelled("From a file", file))),
      h("div", { class: "fields" },
        labelled("Format", this.format), this.about, this.more,
        labelled("Codec", this.codec), this.which, labelled("Dialect", this.dialect), labelled("Finish reason", this.finish),
        h("details", { id: `${this.id}-json` }, h("summary", {}, "Tools and options"),
          labelled("Tools, a JSON list as in OpenAI's API", this.tools), labelled("Options of the message, a JSON object", this.open))));
  }

  /** @param {"input" | "tools" | "open"} name @param {number} rows */
  #area(name, rows) {
    const area = h("textarea", { id: `${this.id}-${name}`, rows, spellcheck: "false", input: () => this.changed({ [name]: area.value }) });
    return area;
  }

  /** @param {string} name @param {Choice[]} choices @param {(value: string) => void} changed */
  #select(name, choices, changed) {
    const options = choices.map((choice) => h("option", { value: choice.name, title: choice.summary }, choice.name || "none: model text"));
    const select = h("select", { id: `${this.id}-${name}`, change: () => changed(select.value) }, ...options);
    return select;
  }
}

/** Chooses an option, an unknown one too: the server says what is wrong. @param {HTMLSelectElement} select @param {string} value */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
  select.value = value;
}
