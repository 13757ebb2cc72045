// @ts-check
/** Types that the modules share. This is no module, so the names are known everywhere. */

/** @typedef {{type: string, [field: string]: unknown}} NativeEvent */
/** @typedef {{event: NativeEvent, start: number, end: number, payloads: string[], sent?: boolean, other?: unknown}} Made With the characters that made it; of a live one whether it is published, and what was in its place. */
/** @typedef {{kind: string, start: number, end: number, source: string, held: string, pending: string, mode: string, bytes: number, first: number, last: number}} Step With events from `first` up to `last`. */
/** @typedef {{prompt: number, rejected: string[]}} Head */
/** @typedef {{steps: Step[], made: Made[]}} Batch */
/** @typedef {{from: string, to: string, labels: string[]}} Move */
/** @typedef {{start: string, states: {name: string, title: string}[], moves: Move[]}} Diagram */
/** @typedef {{name: string, summary: string}} Choice */
/** @typedef {Choice & {sample: string, diagram: Diagram}} FormatChoice */
/** @typedef {{formats: FormatChoice[], codecs: Choice[], dialects: Choice[], file: string | null, live: boolean, words: boolean}} Choices */
/** @typedef {{start: number, end: number}} Span Of code points. */

/**
 * What somebody typed and chose. `codec` is empty for model text; `cuts` is null where `chunk` says how it is cut; `step` 0
 * is the last one.
 * @typedef {{input: string, codec: string, formats: string[], dialect: string, tools: string, open: string, finish: string,
 *   cuts: number[] | null, chunk: number, step: number}} State
 */
