// @ts-check
/** Calls that tools run: which wait for a word, what a person said, how far they are, and what came of them. */

import { ask } from "./api.js";
import { button, h, labelled, sync } from "./dom.js";
import { plainly } from "./hidden.js";
import { longText } from "./long.js";

/** @import {Call} from "./conversation.js" */

const SHOWN = 50;

/** The newest calls as cards, and all that wait for a word: those with all of their arguments, as nobody approves what is not shown. A card is drawn again when something was said of its call. */
export class Calls {
  /** @type {Map<string, {said: string, element: HTMLElement}>} */
  #drawn = new Map();
  problem = h("div", { role: "alert", class: "problem" });
  list = h("div", { class: "cards" });
  element = h("section", { "aria-label": "Calls of tools", "data-testid": "calls" }, h("h2", {}, "Calls of tools"), this.problem, this.list);

  /** @param {() => string} conversation the one that is followed; empty where no word can be said of its calls */
  constructor(conversation) {
    this.conversation = conversation;
  }

  /** Another conversation. */
  clear() {
    this.#drawn.clear();
  }

  /** @param {Map<string, Call>} calls */
  show(calls) {
    this.element.hidden = !calls.size;
    const older = calls.size - SHOWN;
    sync(this.list, [...calls.values()].filter((call, at) => at >= older || stateOf(call) === "waits").map((call) => this.#card(call)));
  }

  /** @param {Call} call */
  #card(call) {
    const said = JSON.stringify([call.word, call.progress, call.result, call.approval]);
    const known = this.#drawn.get(call.key);
    if (known?.said === said) return known.element;
    const state = stateOf(call);
    const element = h("section", { class: `card call ${state}`, "data-testid": "tool", "data-state": state },
      h("h3", {}, h("span", { class: "name" }, plainly(call.name)), h("span", { class: "badge" }, state)),
      h("p", { class: "hint" }, `id ${plainly(call.id)}`),
      call.arguments !== undefined && longText(call.text || JSON.stringify(call.arguments, null, 2), "code", state === "waits"),
      call.word && h("p", {}, `${call.word.granted ? "Approved" : "Refused"} by ${plainly(call.word.by || "nobody named")}. ${plainly(call.word.why)}`),
      call.progress && !call.result && h("p", {}, howFar(call.progress)),
      call.result && longText(call.result.error ?? JSON.stringify(call.result.result ?? null, null, 2), "code"),
      state === "waits" && this.conversation() && this.#words(call));
    this.#drawn.set(call.key, { said, element });
    return element;
  }

  /** @param {Call} call */
  #words(call) {
    const why = h("input", { id: `why-${call.approval}` });
    const bar = h("div", { class: "bar" }, button("Approve", () => void this.#say(bar, call, true, "")), labelled("Why not", why), button("Refuse", () => void this.#say(bar, call, false, why.value)));
    return bar;
  }

  /** Sends a word once: its record draws the card again. @param {HTMLElement} bar @param {Call} call @param {boolean} granted @param {string} why */
  async #say(bar, { approval }, granted, why) {
    const buttons = [...bar.querySelectorAll("button")];
    const wait = (/** @type {boolean} */ waits) => buttons.forEach((each) => each.setAttribute("aria-disabled", String(waits)));
    if (buttons[0].getAttribute("aria-disabled") === "true") return;
    this.problem.textContent = "";
    wait(true);
    await ask("api/words", { conversation: this.conversation(), approval, granted, why }).catch(({ message }) => {
      this.problem.textContent = message;
      wait(false);
    });
  }
}

/** @param {Call} call */
function stateOf({ result, word, approval }) {
  if (result) return result.error === undefined ? "answered" : "failed";
  if (word) return word.granted ? "approved" : "refused";
  return approval ? "waits" : "runs";
}

/** @param {{progress: number, total?: number, message?: string}} said */
function howFar({ progress, total, message = "" }) {
  return `${Number(progress)}${Number(total) ? ` of ${Number(total)}` : ""} ${plainly(message)}`;
}
