// @ts-check
/** Asks the server whether every cut of the text gives the same events. */

import { Line } from "./api.js";
import { button, count, h } from "./dom.js";
import { longText } from "./long.js";
import { toRequest } from "./state.js";

/** The button and its answer. */
export class Check {
  #line = new Line();

  /** @param {string} id @param {() => State} state @param {(cut: number) => void} cutAt */
  constructor(id, state, cutAt) {
    this.state = state;
    this.cutAt = cutAt;
    this.button = button("Check all cuts", () => this.#ask(), `${id}-check`);
    this.said = h("p", { role: "status", "data-testid": "cuts-answer" });
    this.more = h("div");
    this.element = h("div", {}, this.said, this.more);
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

  /** @param {{tried: number, differs: null | {cut: number, events: NativeEvent[], expected: NativeEvent[]}}} answer */
  #answered({ tried, differs }) {
    if (!differs) return void (this.said.textContent = `The same events with each of ${count(tried, "cut")}.`);
    const { cut, events, expected } = differs;
    this.said.textContent = `A cut at ${cut} gives other events (${tried} tried).`;
    this.more.append(button("Cut there", () => this.cutAt(cut)),
      h("div", { class: "two" }, listed("Expected", expected), listed("With the cut", events)));
  }
}

/** @param {string} title @param {NativeEvent[]} events */
function listed(title, events) {
  return h("div", {}, h("strong", {}, title), longText(events.map((event) => JSON.stringify(event)).join("\n"), "code"));
}
