// @ts-check
/** The input as a line for the repository's test cases, and for `tokenmill parse --batch`. */

import { pieces } from "./cuts.js";
import { button, h, labelled } from "./dom.js";
import { escaped } from "./hidden.js";
import { jsonFields, oneOrMany } from "./state.js";

/** A field with the line, and a button that copies it. */
export class TestCase {
  /** @param {string} id @param {() => import("./input.js").Input} input */
  constructor(id, input) {
    this.input = input;
    this.name = h("input", { id: `${id}-case-name`, value: "a case", input: () => this.update() });
    this.line = h("textarea", { id: `${id}-case`, rows: 4, readonly: true, spellcheck: "false" });
    this.said = h("span", { role: "status" });
    this.element = h("details", { class: "case", toggle: () => this.update() }, h("summary", { id: `${id}-case-open` }, "Make this a test case"),
      labelled("Name of the case", this.name), labelled("JSON line", this.line),
      h("div", { class: "bar" }, button("Copy", () => void this.#copy(), { id: `${id}-case-copy` }), this.said));
  }

  /** Writes the line anew if it is in sight. */
  update() {
    this.said.textContent = "";
    if (!this.element.open) return;
    try {
      this.line.value = escaped(JSON.stringify(caseOf(this.name.value, this.input())));
    } catch (problem) {
      this.line.value = /** @type {Error} */ (problem).message;
    }
  }

  async #copy() {
    this.said.textContent = (await copy(this.line.value)) ? "Copied." : "The browser does not let the page copy.";
  }
}

/**
 * Puts text on the clipboard; false where the browser forbids it.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} name @param {import("./input.js").Input} input */
function caseOf(name, input) {
  const { state } = input;
  const { tools, open } = jsonFields(state);
  const line = { name, format: oneOrMany(state.formats), open: open ?? {}, ...(tools === undefined ? {} : { tools }) };
  if (state.codec) return { ...line, codec: state.codec, chunks: records(state) };
  const finish = state.finish === "stop" ? [] : [{ finish_reason: state.finish }];
  return { ...line, chunks: [...pieces(input.points(), input.cuts()), ...finish] };
}

/**
 * Records as chunks of a case: native ones as JSON, others as they are.
 * @param {import("./types.js").State} state
 */
function records({ codec, input }) {
  const lines = input.split("\n").filter(Boolean);
  return codec === "native" ? lines.map((line) => JSON.parse(line)) : lines;
}
