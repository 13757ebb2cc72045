// Generated from the code by `make gen`.

/** Every type of event that this version knows. */
export const EVENT_TYPES = Object.freeze([
  "message-start",
  "text-start",
  "text-delta",
  "text-end",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-start",
  "tool-input-delta",
  "argument-delta",
  "tool-input-end",
  "tool-call",
  "part",
  "error",
  "finish",
  "tool-progress",
  "tool-result"
]);

const KNOWN = new Set(EVENT_TYPES);

/** Whether a value is an event of a type that this version knows. */
export function isEvent(value) {
  return typeof value === "object" && value !== null && KNOWN.has(value.type);
}

/** The event in a payload of the native dialect; `undefined` where it is none that this version knows. */
export function parseEvent(payload, reviver) {
  const value = JSON.parse(payload, reviver);
  return isEvent(value) ? value : undefined;
}

/** A reviver: integers that a number can't hold become BigInts, where the engine's revivers get the source. */
export function exactIntegers(_key, value, context) {
  const source = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}
