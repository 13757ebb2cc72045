// @ts-check
/** The input as a line for the repository's test cases, and for `tokenmill parse --batch`. */

import { pieces } from "./cuts.js";
import { button, h, labelled } from "./dom.js";
import { escaped } from "./hidden.js";
import { parse } from "./json.js";
import { jsonFields, oneOrMany } from "./state.js";

/** A field with the line, and a button that copies it. */
export class TestCase {
  /** @param {string} id @param {import("./input.js").Input} input */
  constructor(id, input) {
    this.input = input;
    this.name = h("input", { id: `${id}-case-name`, value: "a case", input: () => this.update() });
    this.line = h("textarea", { id: `${id}-case`, rows: 4, readonly: true, spellcheck: "false" });
    this.said = h("span", { role: "status" });
    this.element = h("details", { toggle: () => this.update() }, h("summary", { id: `${id}-case-open` }, "Make this a test case"),
      labelled("Name of the case", this.name), labelled("JSON line", this.line),
      h("div", { class: "bar" }, button("Copy", () => void this.#copy(), `${id}-case-copy`), this.said));
  }

  /** Writes the line anew if it is in sight. */
  update() {
    this.said.textContent = "";
    if (!this.element.open) return;
    try {
      this.line.value = escaped(JSON.stringify({ name: this.name.value, ...caseOf(this.input) }));
    } catch (problem) {
      this.line.value = /** @type {Error} */ (problem).message;
    }
  }

  async #copy() {
    this.line.select();
    const done = navigator.clipboard?.writeText(this.line.value).then(() => "Copied.");
    this.said.textContent = (await done?.catch(() => "")) || "The line is selected.";
  }
}

/** @param {import("./input.js").Input} input */
function caseOf(input) {
  const { codec, finish, formats, input: text } = input.state;
  const line = { format: oneOrMany(formats), open: {}, ...jsonFields(input.state) };
  if (!codec) return { ...line, chunks: [...pieces(input.points, input.cuts()), ...(finish === "stop" ? [] : [{ finish_reason: finish }])] };
  const records = text.split("\n").filter(Boolean);
  return { ...line, codec, chunks: codec === "native" ? records.map(parse) : records };
}
