// @ts-check
/** The thread that asks the server: what comes is handed over in batches, so that none stalls the page. */

import { parse } from "./json.js";

const BATCH = 1000;
const port = /** @type {Worker} */ (/** @type {unknown} */ (self)); // this end looks like the other one

/** @type {Map<number, AbortController>} */
const running = new Map();
// Lines of the live view as they came, for whoever saves them.
/** @type {string[]} */
let kept = [];

port.onmessage = async (/** @type {MessageEvent} */ { data: { id, url, body, file, key, save, abort } }) => {
  if (abort) return running.get(abort)?.abort();
  if (save) return port.postMessage({ id, done: true, answer: new Blob(kept) });
  const control = new AbortController();
  running.set(id, control);
  try {
    const answer = file ? new Response(file, { headers: { "content-type": "application/x-ndjson" } }) : await fetched(url, body, key, control.signal);
    if (answer.headers.get("content-type") === "application/x-ndjson") await handOn(id, answer, control.signal);
    else handOver(id, await answer.text().then(parse).catch(() => ({})));
  } catch (problem) {
    const { message, status } = /** @type {Error & {status?: number}} */ (problem);
    if (!control.signal.aborted) port.postMessage({ id, problem: message, status });
  }
  running.delete(id);
};

/** @param {string} url @param {unknown} body @param {string} key @param {AbortSignal} signal */
async function fetched(url, body, key, signal) {
  const headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(url, { ...options, headers, signal }).catch(() => {
    throw new Error("The server does not answer.");
  });
  if (response.ok) return response;
  const { detail } = await response.json().catch(() => ({}));
  throw Object.assign(new Error(detail ?? `The server answered ${response.status}.`), { status: response.status });
}

/** Lines of JSON as they come. @param {number} id @param {Response} response @param {AbortSignal} signal */
async function handOn(id, { body }, signal) {
  /** @type {string[]} */
  const own = (kept = []);
  const take = (/** @type {string[]} */ lines) => {
    if (lines.length) own.push(`${lines.join("\n")}\n`);
    for (let first = 0; first < lines.length; first += BATCH) {
      port.postMessage({ id, lines: lines.slice(first, first + BATCH).filter(Boolean).map(parse) });
    }
  };
  let rest = "";
  const decoder = new TextDecoder();
  const reader = /** @type {ReadableStream<Uint8Array>} */ (body).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (signal.aborted) return reader.cancel();
    const lines = (rest + decoder.decode(piece.value, { stream: true })).split("\n");
    rest = /** @type {string} */ (lines.pop());
    take(lines);
  }
  if (rest) take([rest]); // a file may end without a line break
  port.postMessage({ id, done: true });
}

/** @param {number} id @param {any} answer */
function handOver(id, answer) {
  if (!answer.steps) return port.postMessage({ id, done: true, answer });
  const { steps, ...head } = answer;
  port.postMessage({ id, head });
  let batch = { steps: /** @type {Step[]} */ ([]), made: /** @type {Made[]} */ ([]) };
  const send = () => {
    port.postMessage({ id, batch });
    batch = { steps: [], made: [] };
  };
  let first = 0;
  for (const { made, ...step } of steps) {
    batch.steps.push({ ...step, first, last: first + made.length });
    first += made.length;
    for (const each of made) if (batch.made.push(each) >= BATCH) send();
    if (batch.steps.length >= BATCH) send();
  }
  send();
  port.postMessage({ id, done: true });
}
