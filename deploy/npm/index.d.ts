// Generated from the code by `make gen`.

/** What a reader of events needs about a tool that the request declares. It is empty if there was no room: then nothing is certain before the call is complete. */
export interface DeclaredTool {
  /** JSON types of the parameters by name; an empty list if the schema does not give any. */
  types?: Record<string, string[]>;
  /** Whether arguments may have other names, too. */
  others?: boolean;
  /** Description of the tool; with the option `describe_tools`, like `parameters`. */
  description?: string;
  /** The schema of the arguments, as declared. */
  parameters?: Record<string, unknown>;
}

/** Options of a message that dialects need, so that it can be rendered from its events alone. The names are those of the options; default values are left out. */
export interface Request {
  /** The declared tools, by name. */
  tools?: Record<string, DeclaredTool>;
  provider?: string;
  stream_tool_input?: boolean | null;
  min_delta_chars?: number;
  text_mode?: string;
  id_prefix?: string;
  segment_end_metadata?: boolean;
  segment_tools?: Record<string, string>;
  conversation_hash?: string;
  include_usage?: boolean;
  custom_tools?: string[];
  /** Bytes that a payload of the message may have, if that differs from the default limits. */
  payload_bytes?: number;
}

/** Counts of tokens with the same meaning for all providers; 0 if the provider did not give one. */
export interface TokenCounts {
  /** All input, cached or not. */
  input_tokens?: number;
  /** All output, including reasoning. */
  output_tokens?: number;
  /** Part of the output. */
  reasoning_tokens?: number;
  /** Part of the input that was read from a cache. */
  cached_tokens?: number;
}

/** The envelope that all events share. */
export interface Envelope {
  /** Key of the input records. */
  conversation_id?: string;
  /** One assistant answer in the conversation. */
  message_id?: string;
  /** Number of the alternative answer; omitted when 0. */
  choice?: number;
  /** Position among the events of (message, choice). */
  seq?: number;
  /** Milliseconds since the epoch: the timestamp of the input record that caused the event. */
  time?: number;
}

/** First event of a message and choice. */
export interface MessageStart extends Envelope {
  type: "message-start";
  /** Name of the model, as the producer gave it. */
  model: string;
  /** Name of the format, or of several that are active at the same time. */
  format: string | string[];
  /** Options of the message that dialects need. */
  request?: Request;
}

/** A block of visible text begins. */
export interface TextStart extends Envelope {
  type: "text-start";
  id: string;
  /** Id of a failed call, empty if it had none yet: the block is the source of that call, and nothing else. */
  call?: string;
  /** Whether the answer was cut off inside that call, as at a limit of tokens. Clients leave such text out. */
  cut?: boolean;
}

/** More of a block of visible text. */
export interface TextDelta extends Envelope {
  type: "text-delta";
  id: string;
  delta: string;
}

/** A block of visible text is complete. */
export interface TextEnd extends Envelope {
  type: "text-end";
  id: string;
}

/** A block of reasoning begins. */
export interface ReasoningStart extends Envelope {
  type: "reasoning-start";
  id: string;
}

/** More of a block of reasoning. */
export interface ReasoningDelta extends Envelope {
  type: "reasoning-delta";
  id: string;
  delta: string;
}

/** A block of reasoning is complete. */
export interface ReasoningEnd extends Envelope {
  type: "reasoning-end";
  id: string;
}

/** A call's name and id are known; its arguments are still arriving. */
export interface ToolInputStart extends Envelope {
  type: "tool-input-start";
  /** The same in all events of the call, and on the wire of every dialect. */
  id: string;
  /** Name of the tool. */
  name: string;
  /** How the model writes the arguments: with `json`, the joined deltas are JSON. */
  encoding: "json" | "python" | "text" | "xml";
  /** Whether the call comes from the provider's own tool stream, not from the model's text. */
  provider?: boolean;
  /** Additional content of the call's opening, in formats that have it: its `type` and attributes, as written. */
  attributes?: Record<string, unknown>;
}

/** More source text of the argument region, verbatim, never repaired. */
export interface ToolInputDelta extends Envelope {
  type: "tool-input-delta";
  id: string;
  delta: string;
}

/** More decoded text of one string argument. */
export interface ArgumentDelta extends Envelope {
  type: "argument-delta";
  id: string;
  argument: string;
  /** Text without the escapes and quotes of the source. */
  delta: string;
}

/** The source of a call is complete; exactly one `tool-call` or `error` of its id follows. */
export interface ToolInputEnd extends Envelope {
  type: "tool-input-end";
  id: string;
}

/** A complete call. Values in `arguments` that the format writes as plain text have the types of the tool's schema; those that it writes as JSON or Python keep their own. `repaired` marks a source that was not valid and was read leniently. A call with a `problem` follows the `error` of the same id and should not be executed. */
export interface ToolCall extends Envelope {
  type: "tool-call";
  id: string;
  name: string;
  /** Values by name, with the types that the tool's schema asks for. */
  arguments: Record<string, unknown>;
  /** Whether the source was not quite valid in the format. */
  repaired?: boolean;
  /** Reason why the call should not be executed. */
  problem?: "schema-mismatch" | "unknown-tool";
}

/** Provider content that is not text, reasoning or a call, in its place; `kind` is what the provider calls it. */
export interface Part extends Envelope {
  type: "part";
  kind: string;
  value: unknown;
  /** Id of the call that it belongs to, if any. */
  id?: string;
}

/** Something in this message went wrong; the stream continues. With an `id` it voids the `tool-input-*` and `argument-delta` events of that id, unless a `tool-call` follows. */
export interface Error extends Envelope {
  type: "error";
  code: "gap" | "internal" | "limit" | "malformed-call" | "reconfigured" | "schema-mismatch" | "state-lost" | "unfinished-call" | "unknown-tool" | "upstream";
  /** One sentence for people; programs read the code. */
  message: string;
  /** Id of the call that it is about. */
  id?: string;
  /** Name of the tool, if it is known. */
  name?: string;
  /** Beginning of the source, at most 4 KiB; with `upstream`, of the provider's answer, which had `status`. */
  raw?: string;
  status?: number;
}

/** Last event of a message and choice. */
export interface Finish extends Envelope {
  type: "finish";
  reason: "cancelled" | "content-filter" | "error" | "length" | "stop" | "timeout" | "tool-calls";
  /** The provider's own word, if it differs; `usage` has the token counts as the provider gave them. */
  raw_reason?: string;
  usage?: Record<string, unknown>;
  /** The same counts under the same names for all providers, if any of them are known. */
  tokens?: TokenCounts;
  /** Number of other choices of the message that are still open: with the last one the message is over. */
  choices_left?: number;
  /** The text at which the model was told to stop and did, if the provider reports it. */
  stop_sequence?: string;
}

/** Progress that the tool of a call reports, out of a `total` if it gives one; on the topic of the results. */
export interface ToolProgress extends Envelope {
  type: "tool-progress";
  id: string;
  name: string;
  progress: number;
  total?: number;
  message?: string;
}

/** The result of a call's tool; on its own topic, without `seq`. */
export interface ToolResult extends Envelope {
  type: "tool-result";
  id: string;
  name: string;
  result?: unknown;
  /** Reason why there is no result. */
  error?: string;
  elapsed_ms?: number;
  /** With an error: whether the call was made, and which side failed. The how-to on tools lists the codes. */
  code?: string;
}

/** Any event. */
export type AnyEvent =
  | MessageStart
  | TextStart
  | TextDelta
  | TextEnd
  | ReasoningStart
  | ReasoningDelta
  | ReasoningEnd
  | ToolInputStart
  | ToolInputDelta
  | ArgumentDelta
  | ToolInputEnd
  | ToolCall
  | Part
  | Error
  | Finish
  | ToolProgress
  | ToolResult;

/** The name of an event. */
export type EventType = AnyEvent["type"];

/** The event of a name. */
export type EventOf<Name extends EventType> = Extract<AnyEvent, { type: Name }>;

/** Every type of event that this version knows. */
export declare const EVENT_TYPES: readonly EventType[];

/** Whether a value is an event of a type that this version knows. */
export declare function isEvent(value: unknown): value is AnyEvent;

/** Changes a value as it is read, like those of `JSON.parse`. */
export type Reviver = (key: string, value: any, context?: { source?: string }) => unknown;

/** The event in a payload of the native dialect; `undefined` where it is none that this version knows. Throws a
 * `SyntaxError` for what is no JSON. */
export declare function parseEvent(payload: string, reviver?: Reviver): AnyEvent | undefined;

/** For `parseEvent`: integers beyond `Number.MAX_SAFE_INTEGER` become BigInts in place of rounded numbers, where the
 * engine's revivers get the source text. */
export declare const exactIntegers: Reviver;
