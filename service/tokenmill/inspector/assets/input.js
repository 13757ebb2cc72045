// @ts-check
/** An input of the parser: the form, the tools that cut, and the source strip. It holds the state of both. */

import { cutbar } from "./cutbar.js";
import { atRandom, inOrder } from "./cuts.js";
import { h } from "./dom.js";
import { Form } from "./form.js";
import { Points } from "./points.js";
import { cutsOf, empty } from "./state.js";
import { Strip } from "./strip.js";

/** @typedef {import("./types.js").State} State */

/** Form and strip over one state. */
export class Input {
  /** @type {State} */
  state = empty();
  #points = new Points("");
  /** @type {import("./run.js").Run | null} */
  #run = null;

  /**
   * @param {string} id @param {import("./types.js").Choices} choices @param {() => void} changed
   */
  constructor(id, choices, changed) {
    this.changed = changed;
    this.form = new Form(id, choices, (change) => this.#change(change));
    this.strip = new Strip(`${id}-strip`, (cuts) => this.#change({ cuts }));
    this.bar = cutbar(id, {
      random: (pieces) => this.#change({ cuts: atRandom(this.#points.length, pieces) }),
      every: (chunk) => this.#change({ cuts: null, chunk }),
      at: (position) => this.#change({ cuts: inOrder([...this.cuts(), position], this.#points.length) }),
      none: () => this.#change({ cuts: null, chunk: 0 }),
    });
    this.element = h("div", { class: "source" }, this.form.element, this.bar, this.strip.element);
  }

  /**
   * Takes over a state, of a link for instance.
   * @param {State} state
   */
  set(state) {
    this.state = state;
    this.form.show(state);
    this.#run = null;
    this.#draw();
  }

  /** The text as positions see it. */
  points() {
    return this.#points;
  }

  /** Where the text is cut now. */
  cuts() {
    return cutsOf(this.state, this.#points);
  }

  /**
   * An answer has come: the strip shows what the parser read.
   * @param {import("./run.js").Run} run
   */
  answered(run) {
    this.#run = run;
    this.#draw();
  }

  /** @param {Partial<State>} change */
  #change(change) {
    const same = Object.keys(change).every((key) => ["cuts", "chunk"].includes(key));
    Object.assign(this.state, change, { step: 0 });
    if (!same) this.#run = null;
    this.form.explain(this.state);
    this.#draw();
    this.changed();
  }

  #draw() {
    if (this.#points.text !== this.state.input) this.#points = new Points(this.state.input);
    const captured = this.state.codec !== "";
    this.bar.hidden = captured;
    this.strip.setText(this.#run?.points ?? this.#points, this.#run?.prompt ?? 0, !captured);
    if (!this.#run) this.strip.paint({ step: null, held: null, mark: null });
    if (!captured) this.strip.setCuts(this.cuts());
    else this.strip.setCuts(this.#run?.ends().map((end) => end - (this.#run?.prompt ?? 0)) ?? []);
  }
}
