// @ts-check
/** The thread that asks the server, so that no large answer stalls the page. */

import { Asker } from "./asking.js";

const port = /** @type {{postMessage(message: unknown): void, onmessage: ((event: MessageEvent) => void) | null}} */ (
  /** @type {unknown} */ (self)
);
const asker = new Asker((message) => port.postMessage(message));
port.onmessage = ({ data }) => void asker.hear(data);
