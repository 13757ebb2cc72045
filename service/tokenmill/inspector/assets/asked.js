// @ts-check
/** An input that is asked again whenever it changes: the newest answer counts, problems are said. */

import { Line } from "./api.js";
import { count, h, rested } from "./dom.js";
import { plainly } from "./hidden.js";
import { Run } from "./run.js";
import { toRequest } from "./state.js";

/** Asks for the steps of a state. */
export class Asked {
  #line = new Line();

  /**
   * @param {() => State} state @param {(run: Run) => void} answered @param {() => void} failed @param {typeof Run} [Kind]
   */
  constructor(state, answered, failed, Kind = Run) {
    this.state = state;
    this.answered = answered;
    this.failed = failed;
    this.Kind = Kind;
    this.status = h("p", { role: "status", class: "status", "data-testid": "status" });
    this.problem = h("div", { role: "alert", class: "problem", "data-testid": "problem" });
    /** Asks once the changes rest. */
    this.soon = rested(200, () => this.now());
  }

  /** Asks now. */
  now() {
    this.#line.end();
    try {
      this.#ask(toRequest(this.state()));
    } catch (problem) {
      this.#fail(/** @type {Error} */ (problem).message);
    }
  }

  /** @param {unknown} body */
  #ask(body) {
    /** @type {Run | null} */
    let run = null;
    this.#line.ask("api/steps", body, ({ head, batch, done, problem }) => {
      if (head) run = new this.Kind(head);
      if (batch) run?.add(batch);
      if (problem) this.#fail(problem);
      if (done && run) this.#done(run);
    });
  }

  /** @param {Run} run */
  #done(run) {
    this.say(...run.rejected.map((text) => `${run.rejected.length} can't be read: ${text}`));
    this.status.textContent = `${count(run.made.length, "event")} in ${count(run.steps.length, "step")}`;
    this.answered(run);
  }

  /** @param {string} problem */
  #fail(problem) {
    this.say(problem);
    this.status.textContent = "";
    this.failed();
  }

  /** Says what is wrong; nothing, if nothing is. @param {...string} problems */
  say(...problems) {
    this.problem.replaceChildren(...problems.slice(0, 5).map((text) => h("p", {}, plainly(text))));
  }
}
