// @ts-check
/** The shapes that the modules share: what the server says, and what a view holds. Types alone. */

/** @typedef {{type: string, [field: string]: unknown}} Event A native event. */
/** @typedef {{event: Event, start: number, end: number, payloads: string[]}} Made An event and the characters that made it. */

/**
 * A step as the page keeps it: the events are in one list, from `first` up to `last`.
 * @typedef {{kind: string, start: number, end: number, held: string, pending: string, mode: string, bytes: number,
 *   first: number, last: number}} Step
 */

/** @typedef {{source: string, prompt: number, rejected: string[]}} Head */
/** @typedef {{steps: Step[], made: Made[]}} Batch */

/** @typedef {{name: string, title: string}} DiagramState */
/** @typedef {{from: string, to: string, labels: string[]}} DiagramMove */
/** @typedef {{start: string, states: DiagramState[], moves: DiagramMove[]}} Diagram */
/** @typedef {{name: string, summary: string}} Choice */
/** @typedef {Choice & {sample: string, diagram: Diagram}} FormatChoice */
/** @typedef {{formats: FormatChoice[], codecs: Choice[], dialects: Choice[], live: boolean, file: string | null}} Choices */

/** @typedef {{tried: number, differs: null | {cut: number, events: Event[], expected: Event[]}}} CutsAnswer */

/**
 * What somebody typed and chose. `codec` is empty for model text; `cuts` is null where `chunk` says how it is cut;
 * `step` 0 is the last one.
 * @typedef {{input: string, codec: string, formats: string[], dialect: string, tools: string, open: string,
 *   finish: string, cuts: number[] | null, chunk: number, step: number}} State
 */

export {};
