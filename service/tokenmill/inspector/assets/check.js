// @ts-check
/** Asks the server whether every cut of the text gives the same events. */

import { Line } from "./api.js";
import { button, h } from "./dom.js";
import { longText } from "./long.js";
import { toRequest } from "./state.js";

/** The button and its answer. */
export class Check {
  #line = new Line();

  /**
   * @param {string} id @param {() => import("./types.js").State} state @param {(cut: number) => void} cutAt
   */
  constructor(id, state, cutAt) {
    this.state = state;
    this.cutAt = cutAt;
    this.button = button("Check all cuts", () => this.#ask(), { id: `${id}-check` });
    this.said = h("p", { role: "status", "data-testid": "cuts-answer" });
    this.more = h("div", {});
    this.element = h("div", { class: "check" }, this.said, this.more);
  }

  /** Forgets an answer that was about another text. */
  clear() {
    this.#line.end();
    this.said.textContent = "";
    this.more.replaceChildren();
  }

  #ask() {
    this.clear();
    this.said.textContent = "Every cut is tried …";
    try {
      this.#line.ask("api/cuts", toRequest(this.state()), ({ answer, problem }) => {
        if (problem) this.said.textContent = problem;
        else this.#answered(answer);
      });
    } catch (problem) {
      this.said.textContent = /** @type {Error} */ (problem).message;
    }
  }

  /** @param {import("./types.js").CutsAnswer} answer */
  #answered({ tried, differs }) {
    const count = tried.toLocaleString("en");
    this.said.textContent = differs ? `A cut at ${differs.cut} gives other events (${count} tried).` : `All ${count} cuts give the same events.`;
    if (!differs) return;
    this.more.replaceChildren(
      button("Cut there", () => this.cutAt(differs.cut)),
      h("div", { class: "two" },
        h("div", {}, h("h4", {}, "Expected"), longText(asLines(differs.expected), "code")),
        h("div", {}, h("h4", {}, "With the cut"), longText(asLines(differs.events), "code"))),
    );
  }
}

/** @param {import("./types.js").Event[]} events */
function asLines(events) {
  return events.map((event) => JSON.stringify(event)).join("\n");
}
