// @ts-check
/** A conversation from the lines that the server tells of it: an answer for each choice, calls, what was put aside. */

import { Run } from "./run.js";

/** @typedef {{time: number, seen: number | null}} Came When a record was made, in milliseconds, and came here, in seconds. */
/** @typedef {{key: string, id: string, name: string, arguments?: unknown, text?: string, approval?: string, until?: number, word?: any, progress?: any, result?: any, over?: number}} Call `over`: when its result was. */

/** One choice of a message. */
export class Answer extends Run {
  /** @type {Came[]} */
  came = [];
  /** From token to event, in milliseconds, with the record that it is of. @type {{record: number, delay: number}[]} */
  delays = [];
  /** Where the records end. @type {number[]} */
  cuts = [];
  unsent = 0;
  repeated = 0;
  /** It began before what was read. */
  middle = false;
  finished = false;
  /** The record of each event. @type {number[]} */
  #records = [];

  /** @param {{message: string, choice: number, formats: string[], prompt: number}} line */
  constructor({ message, choice, formats, prompt }) {
    super({ prompt, rejected: [] });
    this.message = message;
    this.choice = choice;
    this.formats = formats;
  }

  /** A record. @param {{steps: (Step & {made: Made[]})[], time: number, seen: number | null}} line */
  piece({ steps, time, seen }) {
    const record = this.came.push({ time: Number(time), seen }) - 1;
    for (const { made, ...step } of steps) {
      const first = this.made.length;
      for (const each of made) Object.assign(each, { payloads: [], sent: false });
      this.add({ steps: [{ ...step, first, last: first + made.length }], made });
      for (const _ of made) this.#records.push(record);
      if (step.end > (this.cuts[this.cuts.length - 1] ?? 0) + this.prompt) this.cuts.push(step.end - this.prompt);
      this.unsent += made.length;
      this.finished ||= made.some(({ event }) => event.type === "finish");
    }
  }

  /** The same tokens without what was expected of them. @param {string} message */
  unread(message) {
    const answer = new Answer({ message, choice: this.choice, formats: [], prompt: this.prompt });
    for (const { first, last, ...step } of this.steps) answer.add({ steps: [{ ...step, first: 0, last: 0, held: "", pending: "", mode: "", bytes: 0 }], made: [] });
    return Object.assign(answer, { came: this.came, cuts: this.cuts, middle: true });
  }

  /** An event is in the log. @param {{number: number, seen: number | null, other: unknown}} line */
  publish({ number, seen, other }) {
    const made = this.made[number];
    made.sent = true;
    if (other !== null) made.other = other;
    this.unsent--;
    const record = this.#records[number];
    const token = this.came[record].seen;
    if (token !== null && seen !== null) this.delays.push({ record, delay: Math.max(0, (seen - token) * 1000) });
  }
}

/** All that was told. */
export class Conversation {
  /** @type {Answer[]} */
  answers = [];
  /** @type {Map<string, Call>} */
  calls = new Map();
  /** @type {string[]} */
  rejected = [];
  /** @type {{partition: number, tokens: number, events: number, behind: boolean} | null} */
  position = null;
  ended = "";
  /** What a saved page brings beside. @type {FormatChoice[]} */
  formats = [];

  /** More lines. @param {any[]} lines */
  take(lines) {
    for (const line of lines) this.#take(line);
  }

  /** @param {any} line */
  #take(line) {
    if (line.line === "opened") this.answers[line.of] = new Answer(line);
    else if (line.line === "piece") this.answers[line.of]?.piece(line);
    else if (line.line === "unread") this.answers[line.of] = this.answers[line.of].unread(line.message);
    else if (line.line === "published") this.answers[line.of]?.publish(line);
    else if (line.line === "repeated") this.answers[line.of].repeated++;
    else if (line.line === "rejected") this.rejected.push(`offset ${line.offset}: ${line.code}: ${line.problem}`);
    else if (line.line === "position") this.position = line;
    else if (line.line === "ended") this.ended = line.detail;
    else if (line.line === "formats") this.formats = line.formats;
    else if (line.line === "said") this.#said(line.record, line.time ?? 0, line.text);
  }

  /** @param {any} record @param {number} time 0 in older recordings @param {string} [text] its arguments to the letter */
  #said(record, time, text) {
    if (record.type === "approval") {
      const asked = [...this.calls.values()].find(({ approval }) => approval === record.approval);
      return void (asked && !asked.word && (asked.word = record));
    }
    if (!record.id) return;
    // Providers give the same id in every message.
    const key = JSON.stringify([record.message_id, record.choice ?? 0, record.id]);
    const known = this.calls.get(key);
    /** @type {Call} */
    const call = known && !isAnother(known, record, time) ? known : { key, id: record.id, name: record.name };
    this.calls.set(key, call);
    if (record.type === "approval-request") Object.assign(call, { arguments: record.arguments, text, approval: record.approval, until: record.until });
    else if (record.type === "tool-progress") call.progress = record;
    else if (record.type === "tool-result") [call.result, call.over] = [record, time];
  }
}

/** Whether a record is of another call, as ids of messages may come again. A result may be read before its question. @param {Call} known @param {any} record @param {number} time */
function isAnother({ approval, name, over = Infinity }, record, time) {
  if (record.type !== "approval-request") return record.type === "tool-result" && time > over;
  return approval !== record.approval && (approval !== undefined || name !== record.name || time > over);
}
