// @ts-check
/** A conversation as it comes, or as it was saved: tokens beside the events that came of them. */

import { kept, Line } from "./api.js";
import { Calls } from "./calls.js";
import { Conversation } from "./conversation.js";
import { button, count, h, labelled, paced, perFrame } from "./dom.js";
import { plainly } from "./hidden.js";
import { Results, section } from "./results.js";
import { page, save } from "./save.js";
import { Strip } from "./strip.js";
import { Timing } from "./timing.js";

/** @import {Answer} from "./conversation.js" */

const BACK = { 60: "a minute", 600: "ten minutes", 3600: "an hour", 86400: "a day", 604800: "a week" };
// Drawing a plot takes longer than drawing the rest.
const PLOT_MS = 400;

/** A view that can be linked to. */
export class Live {
  #line = new Line();
  #told = new Conversation();
  /** @type {Answer | null} */
  #answer = null;
  #chosen = false;
  #paused = false;
  #reads = false;
  #rejected = 0;
  /** The conversation that is followed; empty for a recording. */
  #followed = "";

  /** @param {string} id @param {Choices} choices @param {() => void} changed @param {boolean} [saved] it is a page of its own */
  constructor(id, choices, changed, saved = false) {
    this.choices = choices;
    this.changed = changed;
    this.conversation = h("input", { id: `${id}-conversation`, spellcheck: "false", autocomplete: "off", required: true });
    this.back = h("select", { id: `${id}-back` }, ...Object.entries(BACK).map(([value, text]) => h("option", { value, selected: value === "600" }, text)));
    this.form = h("form", { class: "bar", hidden: !choices.live, submit: (event) => (event.preventDefault(), this.follow()) },
      labelled("Conversation", this.conversation), labelled("Look back", this.back), h("button", { id: `${id}-follow` }, "Follow"));
    this.file = h("input", { type: "file", id: `${id}-file`, accept: ".jsonl", change: () => this.#open() });
    this.leave = button("Disconnect", () => this.#leave("You left."), `${id}-leave`);
    this.again = button("Reconnect", () => this.#again(), `${id}-again`);
    this.pause = button("Pause", () => this.#hold(), `${id}-pause`);
    this.saves = [button("Save as JSON lines", () => void this.#save(), `${id}-save`), button("Save as a page", () => void this.#save(true), `${id}-page`)];
    this.which = h("select", { id: `${id}-message`, change: () => this.#choose(this.which.selectedIndex) });
    this.status = h("p", { role: "status", "data-testid": "live-status" });
    this.place = h("p", { class: "hint", "data-testid": "position" });
    this.problem = h("div", { role: "alert", class: "problem" });
    this.strip = new Strip(`${id}-strip`, () => {});
    this.results = new Results(id, this.strip, () => {});
    this.timing = new Timing();
    this.calls = new Calls(() => choices.words ? this.#followed : "");
    this.middle = h("p", { class: "hint", "data-testid": "middle" }, "It began before what was read: tokens and events are as they are in the log, not aligned, and nothing is expected.");
    this.shown = h("div", { hidden: true }, labelled("Message", this.which), this.middle, section("Tokens", this.strip.element),
      this.results.stepper.element, this.results.element, this.timing.element);
    this.element = h("div", { keydown: (event) => this.results.key(event) }, this.form,
      h("div", { class: "bar", hidden: saved }, labelled("Open a recording", this.file), this.leave, this.again, this.pause, ...this.saves),
      this.status, this.place, this.problem, this.shown, this.calls.element);
    this.draw = perFrame(() => this.#draw());
    this.time = paced(PLOT_MS, () => this.#answer && this.timing.show(this.#answer));
    this.draw();
  }

  /** Takes over what a link says. @param {any} fields */
  read(fields) {
    if (!fields?.conversation || !this.choices.live) return;
    this.conversation.value = String(fields.conversation);
    if (String(fields.back) in BACK) this.back.value = String(fields.back);
    this.follow();
  }

  link() {
    return this.#followed ? { conversation: this.#followed, back: Number(this.back.value) } : null;
  }

  /** Follows the conversation of the form, from the place that it says. */
  follow() {
    this.#begin();
    this.file.value = "";
    this.#followed = this.conversation.value;
    this.status.textContent = "Connecting …";
    this.changed();
    const asked = new URLSearchParams({ conversation: this.#followed, back: this.back.value });
    this.#line.ask(`api/live?${asked}`, undefined, (message) => this.#hear(message));
  }

  #again() {
    this.conversation.value = this.#followed;
    this.follow();
  }

  /** Shows lines that are there already. @param {any[]} lines */
  take(lines) {
    this.#told.take(lines);
    this.draw();
  }

  #open() {
    const file = this.file.files?.[0];
    if (!file) return;
    this.#begin();
    this.#followed = this.conversation.value = "";
    this.#line.read(file, (message) => this.#hear(message));
  }

  #begin() {
    this.#line.end();
    this.#told = new Conversation();
    this.calls.clear();
    this.#answer = null;
    this.#chosen = this.#paused = false;
    this.#reads = true;
    this.problem.textContent = "";
    this.#rejected = 0;
    this.which.replaceChildren();
    this.draw();
  }

  /** @param {import("./api.js").Message} message */
  #hear({ lines, done, problem }) {
    if (lines) this.#told.take(lines);
    if (problem || (done && !this.#told.ended)) this.#leave(problem ?? (this.file.value ? "That is all of the recording." : "The server has ended the stream."));
    if (this.#told.ended) this.#leave(this.#told.ended);
    this.draw();
  }

  /** @param {string} why */
  #leave(why) {
    this.#line.end();
    this.#reads = false;
    this.status.textContent = why;
    this.draw();
  }

  #hold() {
    this.#paused = !this.#paused;
    if (!this.#paused && this.#answer) this.results.show(this.#answer, 0);
    this.draw();
  }

  /** @param {number} place */
  #choose(place) {
    this.#chosen = true;
    this.#show(this.#answers()[place]);
  }

  #answers() {
    return this.#told.answers.filter(Boolean);
  }

  #draw() {
    const answers = this.#answers();
    this.#offer();
    for (const each of [this.pause, ...this.saves]) each.hidden = !answers.length;
    this.pause.textContent = this.#paused ? "Go on" : "Pause";
    this.#say(answers);
    this.calls.show(this.#told.calls);
    this.shown.hidden = !answers.length;
    if (!answers.length) return;
    this.#options(answers);
    const newest = answers[answers.length - 1];
    // An answer of which only the middle was read is told anew.
    if (this.#answer && !answers.includes(this.#answer)) this.#show(answers[this.which.selectedIndex]);
    if (!this.#answer || (!this.#chosen && !this.#paused && newest !== this.#answer)) this.#show(newest);
    else this.#grow(this.#answer);
  }

  /** Shows the button that fits, with the focus of the one whose place it takes. */
  #offer() {
    const focused = [this.leave, this.again].some((each) => each === document.activeElement);
    this.leave.hidden = !this.#reads;
    this.again.hidden = this.#reads || !this.#followed;
    if (focused) (this.#reads ? this.leave : this.again).focus();
  }

  /** @param {Answer[]} answers */
  #say(answers) {
    const { position, rejected } = this.#told;
    if (this.#reads && position) this.status.textContent = position.behind ? "Reading what is in the log …" : this.#paused ? "Paused; what comes is kept." : "Following.";
    const events = answers.reduce((sum, { made }) => sum + made.length, 0);
    this.place.textContent = position ? `Partition ${position.partition}: tokens to ${position.tokens}, events to ${position.events}. ${count(answers.length, "answer")}, ${count(events, "event")}.` : "";
    // Whatever is put here is announced, also if it was here before.
    if (rejected.length !== this.#rejected) this.problem.replaceChildren(...rejected.slice(-5).map((text) => h("p", {}, plainly(`Put aside: ${text}`))));
    this.#rejected = rejected.length;
  }

  /** @param {Answer[]} answers */
  #options(answers) {
    for (const [place, { message, choice, finished }] of answers.entries()) {
      const option = this.which.options[place] ?? this.which.appendChild(h("option"));
      const text = `${plainly(message)}${choice ? `, choice ${choice}` : ""}${finished ? "" : " …"}`;
      if (option.textContent !== text) option.textContent = text;
    }
  }

  /** @param {Answer} answer */
  #show(answer) {
    this.#answer = answer;
    this.middle.hidden = !answer.middle;
    this.which.selectedIndex = this.#answers().indexOf(answer);
    const formats = [...this.#told.formats, ...this.choices.formats];
    this.results.diagrams.show(formats.filter(({ name }, place) => answer.formats.includes(name) && formats.findIndex((each) => each.name === name) === place));
    this.strip.setText(answer.points, answer.prompt, false);
    this.strip.setCuts(answer.cuts);
    this.results.show(answer, 0);
    this.time();
  }

  /** @param {Answer} answer */
  #grow(answer) {
    this.strip.grow();
    this.strip.setCuts(answer.cuts);
    this.results.stepper.grow(this.#paused);
    this.results.events.list.list.refresh();
    this.time();
  }

  /** @param {boolean} [whole] */
  async #save(whole = false) {
    const name = `tokenmill-${this.#followed || "recording"}`.replace(/[^\w.-]+/g, "_");
    const lines = await kept();
    const used = this.choices.formats.filter((format) => this.#told.answers.some((answer) => answer?.formats.includes(format.name)));
    if (whole) save(`${name}.html`, await page(lines, used.length ? used : this.#told.formats));
    else save(`${name}.jsonl`, lines);
  }
}
