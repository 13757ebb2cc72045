// @ts-check
/** Questions to the server. A `Line` asks one at a time: a new question ends the one before. */

/** @typedef {{head?: Head, batch?: Batch, lines?: any[], done?: boolean, answer?: any, problem?: string, status?: number}} Message */

let lastId = 0;
/** @type {Worker | null} */
let worker = null;
/** @type {Map<number, (message: Message) => void>} */
const waiting = new Map();
let key = "";

/** From now on the server is shown this key or token. @param {string} value */
export function useKey(value) {
  key = value;
}

/** One question at a time. */
export class Line {
  #id = 0;

  /**
   * Asks; `hear` gets what comes, in parts.
   * @param {string} path @param {unknown} body @param {(message: Message) => void} hear
   */
  ask(path, body, hear) {
    this.#send({ url: new URL(path, document.baseURI).href, body, key }, hear);
  }

  /** Reads a file of lines in place of an answer. @param {File} file @param {(message: Message) => void} hear */
  read(file, hear) {
    this.#send({ file }, hear);
  }

  /** @param {object} question @param {(message: Message) => void} hear */
  #send(question, hear) {
    this.end();
    this.#id = ++lastId;
    waiting.set(this.#id, hear);
    thread().postMessage({ id: this.#id, ...question });
  }

  /** Ends the question that is under way. */
  end() {
    if (waiting.delete(this.#id)) thread().postMessage({ abort: this.#id });
  }
}

/** A small answer as a whole. @param {string} path @param {unknown} [body] @returns {Promise<any>} */
export function ask(path, body) {
  return new Promise((resolve, reject) => {
    new Line().ask(path, body, ({ answer, problem, status }) =>
      problem ? reject(Object.assign(new Error(problem), { status })) : resolve(answer));
  });
}

/** The lines that came last, as they came. @returns {Promise<Blob>} */
export function kept() {
  return new Promise((resolve) => {
    const id = ++lastId;
    waiting.set(id, ({ answer }) => resolve(answer));
    thread().postMessage({ id, save: true });
  });
}

function thread() {
  if (worker) return worker;
  worker = new Worker(scriptUrl(new URL("worker.js", import.meta.url).href), { type: "module" });
  worker.onmessage = ({ data: { id, ...message } }) => {
    const hear = waiting.get(id);
    if (message.done || message.problem) waiting.delete(id);
    hear?.(message);
  };
  return worker;
}

/** The page's policy asks for trusted URLs of scripts; this one is a constant. @param {string} url @returns {string} */
function scriptUrl(url) {
  const types = /** @type {any} */ (window).trustedTypes;
  return types ? types.createPolicy("worker", { createScriptURL: () => url }).createScriptURL(url) : url;
}
