// @ts-check
/** An event in one line. */

import { plainly } from "./hidden.js";

const ENVELOPE = new Set(["type", "conversation_id", "message_id", "seq", "time"]);
const SHORT = 200;

/**
 * What an event says, short enough for a row.
 * @param {import("./types.js").Event} event
 */
export function summary(event) {
  if (typeof event.delta === "string") return [event.argument, quoted(event.delta)].filter(Boolean).join(" ");
  if (event.type === "tool-call") return `${clipped(event.name)} ${quoted(event.arguments)}`;
  if (event.type === "error") return `${event.code}: ${clipped(event.message)}`;
  const fields = Object.entries(event).filter(([name]) => !ENVELOPE.has(name));
  return fields.map(([name, value]) => `${name} ${typeof value === "string" ? clipped(value) : quoted(value)}`).join(", ");
}

/**
 * What is wrong or odd with an event: "error", "repaired" or nothing.
 * @param {import("./types.js").Event} event
 */
export function oddity(event) {
  if (event.type === "error" || event.problem) return "error";
  return event.repaired ? "repaired" : "";
}

/** @param {unknown} value */
function quoted(value) {
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, SHORT)) : JSON.stringify(value);
  return clipped(text ?? "");
}

/** @param {unknown} value */
function clipped(value) {
  return plainly(String(value).slice(0, SHORT));
}
