// @ts-check
/** The thread that asks the server: large answers are handed over in batches, so that none stalls the page. */

const BATCH = 1000;
const port = /** @type {Worker} */ (/** @type {unknown} */ (self)); // this end looks like the other one

/** @type {Map<number, AbortController>} */
const running = new Map();

port.onmessage = async (/** @type {MessageEvent} */ { data: { id, url, body, abort } }) => {
  if (abort) return running.get(abort)?.abort();
  const control = new AbortController();
  running.set(id, control);
  try {
    const answer = await fetched(url, body, control.signal);
    if (answer.steps) handOver(id, answer);
    else port.postMessage({ id, done: true, answer });
  } catch (problem) {
    if (!control.signal.aborted) port.postMessage({ id, problem: /** @type {Error} */ (problem).message });
  }
  running.delete(id);
};

/** @param {string} url @param {unknown} body @param {AbortSignal} signal */
async function fetched(url, body, signal) {
  const headers = { "content-type": "application/json" };
  const options = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url, { ...options, signal }).catch(() => {
    throw new Error("The server does not answer.");
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail ?? `The server answered ${response.status}.`);
  return answer;
}

/** @param {number} id @param {{steps: any[]}} answer */
function handOver(id, { steps, ...head }) {
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
