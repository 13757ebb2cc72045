"""The package `tokenmill-events` for TypeScript and JavaScript: the types of the native events, and a reader.

1. The types are those of the structs: a field that may be left out is optional, `type` is a literal that narrows.
2. The code is a module without dependencies that Node and browsers load as it is.
3. An event that this version does not know is no error: readers pass over it, as all readers do.
"""

import json
from collections.abc import Callable, Collection
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import inspect

from tokenmill.events import EVENT_TYPES, DeclaredTool, Event, Request, TokenCounts
from tokenmill.gen import describe

PARTS: tuple[type[msgspec.Struct], ...] = (DeclaredTool, Request, TokenCounts)
"""Objects inside events."""

HEAD = "// Generated from the code by `make gen`.\n"

CHECKOUT = Path(__file__).resolve().parents[3]

NAMES: dict[type[inspect.Type], str] = {
    inspect.AnyType: "unknown",
    inspect.BoolType: "boolean",
    inspect.FloatType: "number",
    inspect.IntType: "number",
    inspect.NoneType: "null",
    inspect.StrType: "string",
}


def package() -> str:
    """Return `package.json`."""
    whole = {
        "name": "tokenmill-events",
        "version": version("tokenmill"),
        "description": "The events of tokenmill: types, and a reader of the native dialect",
        "license": "MIT",
        "type": "module",
        "sideEffects": False,
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}},
        "types": "./index.d.ts",
        "files": ["index.d.ts", "index.js", "README.md", "LICENSE"],
        "engines": {"node": ">=20"},
    }
    return json.dumps(whole, indent=2) + "\n"


def code() -> str:
    """Return `index.js`."""
    return f"""{HEAD}
/** Every type of event that this version knows. */
export const EVENT_TYPES = Object.freeze({json.dumps([event.type for event in EVENT_TYPES], indent=2)});

const KNOWN = new Set(EVENT_TYPES);

/** Whether a value is an event of a type that this version knows. */
export function isEvent(value) {{
  return typeof value === "object" && value !== null && KNOWN.has(value.type);
}}

/** The event in a payload of the native dialect; `undefined` where it is none that this version knows. */
export function parseEvent(payload, reviver) {{
  const value = JSON.parse(payload, reviver);
  return isEvent(value) ? value : undefined;
}}

/** A reviver: integers that a number can't hold become BigInts, where the engine's revivers get the source. */
export function exactIntegers(_key, value, context) {{
  const source = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\\d+$/.test(source) ? BigInt(source) : value;
}}
"""


def types() -> str:
    """Return `index.d.ts`."""
    parts = [_interface(part, part.__name__, _lines(part)) for part in PARTS]
    envelope = _interface(Event, "Envelope", _lines(Event))
    events = [_interface(event, f"{event.__name__} extends Envelope", _of_event(event)) for event in EVENT_TYPES]
    return "\n".join((HEAD, *parts, envelope, *events, _union(), _functions()))


def readme() -> str:
    """Return the package's page."""
    return """# tokenmill-events

Types of the events that tokenmill makes from the output of language models, and a reader of their payloads. It has no
dependencies, and runs in Node 20 and later and in browsers.

```ts
import { parseEvent } from "tokenmill-events";

const stream = new EventSource("/v1/conversations/trip/events");
stream.onmessage = ({ data }) => {
  const event = parseEvent(data);
  if (event?.type === "text-delta") show(event.delta);
  if (event?.type === "tool-call" && !event.problem) run(event.name, event.arguments);
  if (event?.type === "finish" && !event.choices_left) stream.close();
};
```

An event of a type that this version does not know is `undefined`: skip it.

## Long integers

`JSON.parse` rounds an integer beyond `Number.MAX_SAFE_INTEGER`, such as an id of 19 digits in `arguments` or `result`.
With `exactIntegers` it is a BigInt:

```ts
import { exactIntegers, parseEvent } from "tokenmill-events";

const event = parseEvent(data, exactIntegers);
```

It needs an engine whose revivers get the source text: Node 21, Chrome 114, Firefox 135, Safari 18.4 or later; others
round as before. `JSON.stringify` refuses BigInts, unless a replacer returns `JSON.rawJSON(String(value))` for them.
"""


def _interface(struct: type[msgspec.Struct], head: str, lines: list[str]) -> str:
    return "\n".join((_comment(struct.__doc__ or "", ""), f"export interface {head} {{", *lines, "}", ""))


def _of_event(event: type[Event]) -> list[str]:
    """Return the fields of an event besides the envelope."""
    return [f'  type: "{event.type}";', *_lines(event, inherited=Event.__struct_fields__)]


def _lines(struct: type[msgspec.Struct], inherited: Collection[str] = ()) -> list[str]:
    """Return the fields of a struct that are not inherited, each below its description."""
    said = {field.name: field.text for field in describe.fields(struct)}
    lines = []
    for field in msgspec.structs.fields(struct):
        if field.name in inherited:
            continue
        if said[field.encode_name]:
            lines.append(_comment(said[field.encode_name], "  "))
        lines.append(f"  {field.encode_name}{'' if field.required else '?'}: {_type(inspect.type_info(field.type))};")
    return lines


def _type(info: inspect.Type) -> str:  # noqa: PLR0911 -- a table with a row a kind of type
    match info:
        case inspect.LiteralType(values):
            return " | ".join(json.dumps(value) for value in values)
        case inspect.ListType(item_type=item):
            return f"{_in_list(_type(item))}[]"
        case inspect.DictType(value_type=value):
            return f"Record<string, {_type(value)}>"
        case inspect.UnionType(types):
            return " | ".join(_type(one) for one in types)
        case inspect.StructType(cls):
            return cls.__name__
        case inspect.Metadata(type=plain):
            return _type(plain)
        case _:
            return NAMES[type(info)]


def _in_list(type_: str) -> str:
    return f"({type_})" if " | " in type_ else type_


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {describe.on_one_line(text)} */"


def _union() -> str:
    names = "".join(f"\n  | {event.__name__}" for event in EVENT_TYPES)
    return f"""/** Any event. */
export type AnyEvent ={names};

/** The name of an event. */
export type EventType = AnyEvent["type"];

/** The event of a name. */
export type EventOf<Name extends EventType> = Extract<AnyEvent, {{ type: Name }}>;
"""


def _functions() -> str:
    return """/** Every type of event that this version knows. */
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
"""


def files() -> dict[str, Callable[[], str]]:
    """Return path in the checkout → function that makes the file's text."""
    return {
        "deploy/npm/LICENSE": (CHECKOUT / "LICENSE").read_text,
        "deploy/npm/README.md": readme,
        "deploy/npm/index.d.ts": types,
        "deploy/npm/index.js": code,
        "deploy/npm/package.json": package,
    }
