// @ts-check
/** Questions to the server. A `Line` asks one at a time: a new question ends the one before. */

import { Asker } from "./asking.js";

/** @typedef {{head?: import("./types.js").Head, batch?: import("./types.js").Batch, done?: boolean, answer?: any, problem?: string}} Message */

let lastId = 0;
/** @type {((question: import("./asking.js").Question) => void) | null} */
let put = null;
/** @type {Map<number, (message: Message) => void>} */
const waiting = new Map();

/** One question at a time. */
export class Line {
  #id = 0;

  /**
   * Asks; `hear` gets what comes, in parts.
   * @param {string} path @param {unknown} body @param {(message: Message) => void} hear
   */
  ask(path, body, hear) {
    this.end();
    const id = (this.#id = ++lastId);
    waiting.set(id, hear);
    send({ id, url: new URL(path, document.baseURI).href, body });
  }

  /** Ends the question that is under way. */
  end() {
    if (waiting.delete(this.#id)) send({ id: 0, url: "", abort: this.#id });
  }
}

/**
 * A small answer as a whole.
 * @param {string} path
 * @returns {Promise<any>}
 */
export function ask(path) {
  return new Promise((resolve, reject) => {
    new Line().ask(path, undefined, ({ answer, problem }) => (problem ? reject(new Error(problem)) : resolve(answer)));
  });
}

/** @param {import("./asking.js").Question} question */
function send(question) {
  put ??= thread() ?? here();
  put(question);
}

/** @param {Message & {id: number}} message */
function heard({ id, ...message }) {
  const hear = waiting.get(id);
  if (message.done || message.problem) waiting.delete(id);
  hear?.(message);
}

function thread() {
  try {
    const worker = new Worker(scriptUrl(new URL("worker.js", import.meta.url).href), { type: "module" });
    worker.onmessage = ({ data }) => heard(data);
    return (/** @type {import("./asking.js").Question} */ question) => worker.postMessage(question);
  } catch {
    return null; // a stricter policy than ours forbids threads
  }
}

function here() {
  const asker = new Asker((message) => heard(/** @type {any} */ (message)));
  return (/** @type {import("./asking.js").Question} */ question) => void asker.hear(question);
}

/**
 * The page's policy asks for trusted URLs of scripts; this one is a constant.
 * @param {string} url
 * @returns {string}
 */
function scriptUrl(url) {
  const types = /** @type {any} */ (window).trustedTypes;
  return types ? types.createPolicy("worker", { createScriptURL: () => url }).createScriptURL(url) : url;
}
