// @ts-check
/** Asks the server and hands large answers over in batches. It runs beside the page's own thread, see `worker.js`. */

/** @typedef {{id: number, url: string, body?: unknown, abort?: number}} Question */

const BATCH = 1000;

/** Questions that are under way. */
export class Asker {
  /** @type {Map<number, AbortController>} */
  #running = new Map();

  /** @param {(message: Record<string, unknown>) => void} post */
  constructor(post) {
    this.post = post;
  }

  /**
   * A question, or the end of one.
   * @param {Question} question
   */
  async hear({ id, url, body, abort }) {
    if (abort) return this.#running.get(abort)?.abort();
    const control = new AbortController();
    this.#running.set(id, control);
    try {
      const answer = await fetched(url, body, control.signal);
      if (answer.steps) this.#handOver(id, answer);
      else this.post({ id, done: true, answer });
    } catch (problem) {
      if (!control.signal.aborted) this.post({ id, problem: /** @type {Error} */ (problem).message });
    } finally {
      this.#running.delete(id);
    }
  }

  /** @param {number} id @param {any} answer */
  #handOver(id, { steps, ...head }) {
    this.post({ id, head });
    let batch = { steps: /** @type {any[]} */ ([]), made: /** @type {any[]} */ ([]) };
    const send = () => {
      this.post({ id, batch });
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
    this.post({ id, done: true });
  }
}

/** @param {string} url @param {unknown} body @param {AbortSignal} signal */
async function fetched(url, body, signal) {
  const headers = { "content-type": "application/json" };
  const options = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url, { ...options, signal }).catch(() => {
    throw new Error("The server does not answer.");
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.problem ?? answer.detail ?? `The server answered ${response.status} ${response.statusText}.`);
  return answer;
}
