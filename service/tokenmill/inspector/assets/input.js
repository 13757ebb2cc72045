// @ts-check
/** An input of the parser: the form, the tools that cut, and the source strip. It holds the state of both. */

import { cutbar } from "./cutbar.js";
import { atRandom, inOrder } from "./cuts.js";
import { h } from "./dom.js";
import { Form } from "./form.js";
import { Points } from "./points.js";
import { cutsOf, fromLink } from "./state.js";
import { Strip } from "./strip.js";

/** @import {Run} from "./run.js" */

/** Form and strip over one state. */
export class Input {
  state = fromLink({});
  /** The text as positions see it. */
  points = new Points("");
  /** @type {Run | null} */
  #run = null;

  /** @param {string} id @param {Choices} choices @param {() => void} changed */
  constructor(id, choices, changed) {
    this.changed = changed;
    this.form = new Form(id, choices, (change) => this.change(change));
    this.strip = new Strip(`${id}-strip`, (cuts) => this.change({ cuts }));
    this.bar = cutbar(id, {
      random: (pieces) => this.change({ cuts: atRandom(this.points.length, pieces) }),
      every: (chunk) => this.change({ cuts: null, chunk }),
      at: (position) => this.change({ cuts: inOrder([...this.cuts(), position], this.points.length) }),
      none: () => this.change({ cuts: null, chunk: 0 }),
    });
    this.element = h("div", {}, this.form.element, this.bar, this.strip.element);
  }

  /** Takes over a state, of a link for instance. @param {State} state */
  set(state) {
    this.state = state;
    this.form.show(state);
    this.answered(null);
  }

  /** Where the text is cut now. */
  cuts() {
    return cutsOf(this.state, this.points);
  }

  /** An answer has come: the strip shows what the parser read. @param {Run | null} run */
  answered(run) {
    const { codec, input } = this.state;
    this.#run = run;
    if (this.points.text !== input) this.points = new Points(input);
    this.bar.hidden = codec !== "";
    this.strip.setText(run?.points ?? this.points, run?.prompt ?? 0, !codec);
    if (!run) this.strip.paint({ step: null, held: null, mark: null });
    this.strip.setCuts(codec ? run?.ends() ?? [] : this.cuts());
  }

  /** Changes the state and says so. @param {Partial<State>} change */
  change(change) {
    const sameText = Object.keys(change).every((key) => key === "cuts" || key === "chunk");
    Object.assign(this.state, change, { step: 0 });
    // A sample or a file: the form does not show it yet.
    if ("input" in change && "cuts" in change) this.form.show(this.state);
    this.form.explain(this.state);
    this.answered(sameText ? this.#run : null);
    this.changed();
  }
}
