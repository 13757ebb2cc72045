"""A checkpoint's own `response_template` as a format: the declaration of transformers, turned into markers and bodies.

1. The field `thinking` is the reasoning, `content` the text, `tool_calls` the calls. What stands in none of them is
   text: it is not dropped.
2. Anchors are literals, or patterns that match only a few literals (`anchors`). Contents of calls are `json` and
   `xml-inline`, in the shapes that make a call of the OpenAI form. Anything else is refused by name: an unknown
   declaration would be read wrongly.
3. Types come from the tools; `repeats`, `join`, `optional` and `defaults` change nothing here. The start's anchor is
   swallowed: some models repeat it before each part.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.formats.anchors import CHARS, SPELLINGS, Named, Spelled, named, spelled
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.bodies import Body, JsonArguments, JsonCall, Literals, Params
from tokenmill.parser.bodies.params import Trim, Untyped
from tokenmill.parser.markers import Marker, marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

_REASONING = ("thinking", "reasoning_content", "reasoning")
_KNOWN = (*_REASONING, "content", "tool_calls")
_TAG = re.compile(r"<(\w[\w:.\-]*)")
_TAGS_CHARS = 256
"""Characters of all texts of a call with tags, twice as many as checkpoints declare. Any of them may follow any other,
so their combinations take up to half a second to compile."""

_OPTION = "option 'response_template'"

Texts: TypeAlias = str | list[str] | None


class _Parser(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a value in a tag is read."""

    name: Literal["text", "json"] = "text"
    args: dict[str, bool] = {}


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Further arguments of a content."""

    strip: bool = True
    unquoted_keys: bool = False
    allow_non_json: bool = False
    string_delims: list[tuple[str, str]] = []
    tag_pattern: str = ""
    value_parser: _Parser | None = None
    merge_duplicates: bool = False


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One field: where it begins and ends, and what it holds."""

    open: Texts = None
    open_pattern: str | None = None
    close: Texts = None
    close_pattern: str | None = None
    content: Literal["text", "json", "xml-inline"] = "text"
    content_args: _Arguments = _Arguments()
    transform: Any = "{content}"
    transform_each: bool = False
    repeats: bool = False
    join: str | None = None
    optional: bool = True


class _Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole declaration."""

    fields: dict[str, Field]
    version: Literal[1] = 1
    defaults: dict[str, Any] = {}
    start_anchor: Texts = None
    start_anchor_pattern: str | None = None


_templates = msgspec.msgpack.Decoder(_Template)


def compile_template(format_: Format, template: Mapping[str, Any]) -> Format:
    """Return the format that a template declares. Raises `BadOpen`, which names the field."""
    read = _read(template)
    regions: list[Region] = []
    noise: list[Marker] = []
    sections: list[Section] = []
    at_start = False
    try:
        noise += (marker(text) for text in _listed(read.start_anchor) if _is_marked(text))
    except ValueError as problem:
        raise BadOpen(f"{_OPTION}: 'start_anchor': {problem}") from None
    for name, field in read.fields.items():
        try:
            if name in _REASONING:
                region, begins = _region(field)
                regions, at_start = [*regions, region], at_start or begins
            elif name == "content":
                noise += _around(field)
            else:
                sections.append(_section(field))
        except ValueError as problem:
            raise BadOpen(f"{_OPTION}: field {name!r}: {problem}") from None
    return msgspec.structs.replace(
        format_,
        regions=tuple(regions),
        noise=tuple(noise),
        sections=tuple(sections),
        start="reasoning" if at_start else "text",
    )


def _read(template: Mapping[str, Any]) -> _Template:
    """Return the declaration, without anything unknown."""
    if "properties" in template or "x-regex" in template:
        raise BadOpen(f"{_OPTION}: this is a response_schema, whose patterns need the whole answer")
    try:
        read = _templates.decode(msgspec.msgpack.encode(template))
    except msgspec.ValidationError as problem:
        raise BadOpen(f"{_OPTION}: {problem}") from None
    if unknown := sorted(read.fields.keys() - set(_KNOWN)):
        raise BadOpen(f"{_OPTION}: field {unknown[0]!r}: known are {', '.join(_KNOWN)}")
    return read


def _anchor(texts: Texts, pattern: str | None) -> Spelled:
    """Return the spellings of one side of a field; none if it has no such side, or ends with the answer."""
    if pattern is not None:
        return spelled(pattern)
    found = _listed(texts)
    if "" in found:
        raise ValueError("a text that opens or closes must not be empty")
    return Spelled(() if found == ["eos"] else tuple(found))


def _listed(texts: Texts) -> list[str]:
    """Return the texts of one side. Raises `ValueError` for more than one side may have."""
    listed = [texts] if isinstance(texts, str) else texts or []
    if len(listed) > SPELLINGS or any(len(text) > CHARS for text in listed):
        raise ValueError(f"what opens or closes is more than {SPELLINGS} texts of {CHARS} characters")
    return listed


def _is_marked(text: str) -> bool:
    """Whether prose does not contain such a text."""
    return bool(text.strip()) and not text.strip()[0].isalnum()


def _text_only(field: Field) -> None:
    if field.content != "text" or field.transform != "{content}":
        raise ValueError("its content must be text")


def _region(field: Field) -> tuple[Region, bool]:
    """Return the reasoning, and whether an answer may begin inside it."""
    _text_only(field)
    opened, closed = _anchor(field.open, field.open_pattern), _anchor(field.close, field.close_pattern)
    if not closed.texts or not (opened.texts or opened.at_start):
        raise ValueError("reasoning needs an open and a close")
    return Region(marker(*opened.texts) if opened.texts else None, marker(*closed.texts)), opened.at_start


def _around(field: Field) -> list[Marker]:
    """Return what surrounds the text, and is swallowed."""
    _text_only(field)
    sides = (_anchor(field.open, field.open_pattern), _anchor(field.close, field.close_pattern))
    for side in sides:
        _well_marked(side.texts)
    return [marker(*side.texts) for side in sides if side.texts]


def _section(field: Field) -> Section:
    """Return the calls."""
    closed = _anchor(field.close, field.close_pattern).texts
    close = marker(*closed) if closed else None
    if field.open_pattern is None or "(?P<" not in field.open_pattern:
        opened = _anchor(field.open, field.open_pattern).texts
        _well_marked(opened, needed=True)
        return json_calls(marker(*opened), close, _json_call(field))
    opening = named(field.open_pattern, "name")
    _well_marked(opening.before, needed=True)
    if _function(field) != {"name": "{name}", "arguments": "{content}"}:
        raise ValueError("where the opening has the name, the content must be the arguments")
    body = _arguments(field, closed, opening)
    call = Call(open=marker(*opening.before), body=body, header=_header(opening, body, closed))
    framing = (close,) if close else ()
    return Section(open=None, close=None, calls=(call,), framing=framing, bare="always")


def _well_marked(texts: tuple[str, ...], *, needed: bool = False) -> None:
    """Refuse texts that prose contains, too."""
    if needed and not texts:
        raise ValueError("calls need an open")
    words = [text for text in texts if not _is_marked(text)]
    if words:
        raise ValueError(f"the word {words[0]!r} can't be distinguished from text as it streams")


def _header(opening: Named, body: Body, closed: tuple[str, ...]) -> Header:
    pattern = rf"\s*+(?P<name>{opening.group}){opening.rest}"
    if isinstance(body, Literals):
        if opening.after:
            raise ValueError("bare keys must follow the name immediately")
        return Header(until=marker("{"), pattern=rf"{pattern}\s*+")
    if opening.after:
        return Header(until=marker(*opening.after), pattern=pattern)
    return Header(until=marker(*closed) if closed else marker("\n"), before=marker("{"), pattern=rf"{pattern}\s*+")


def _function(field: Field) -> Any:
    """Return the function in the transform: a placeholder, or placeholders by key."""
    transform = field.transform
    return transform.get("function", transform) if isinstance(transform, dict) else transform


def _json_call(field: Field) -> JsonCall:
    """Return a body in which a JSON object has name and arguments."""
    if field.content != "json" or field.content_args.string_delims:
        raise ValueError("without a name in the opening, the content must be JSON")
    function = _function(field)
    if function == "{content}":
        return JsonCall()
    if not isinstance(function, dict) or not {"name", "arguments"} <= function.keys():
        raise ValueError("its transform makes no call")
    form = "{%s}" if field.transform_each else "{content.%s}"
    keys = [key for key in (_key(function[side], form) for side in ("name", "arguments")) if key]
    if len(keys) != len(("name", "arguments")):
        raise ValueError("its transform must take name and arguments from keys of the content")
    return JsonCall(name=(keys[0],), arguments=(keys[1],))


def _key(placeholder: object, form: str) -> str:
    """Return the key of a placeholder, empty if it is not one."""
    before, _, after = form.partition("%s")
    if not isinstance(placeholder, str) or not (placeholder.startswith(before) and placeholder.endswith(after)):
        return ""
    key = placeholder[len(before) : -len(after)]
    return key if key.isidentifier() else ""


def _arguments(field: Field, closed: tuple[str, ...], opening: Named) -> Body:
    """Return a body that has only the arguments."""
    options = field.content_args
    if field.content == "xml-inline":
        return _params(options, opening, (*_inner_close(opening), *closed))
    if field.content != "json":
        raise ValueError(f"content {field.content!r} makes no arguments")
    delimiters = options.string_delims
    if not delimiters:
        return JsonArguments(optional=True, close=marker(*closed) if closed else None)
    if len(delimiters) != 1 or len(set(delimiters[0])) != 1 or not delimiters[0][0]:
        raise ValueError("'string_delims' must be one pair of the same")
    return Literals(quote=marker(delimiters[0][0]), untyped="json")


def _inner_close(opening: Named) -> list[str]:
    """Return what closes the tag with the name, where the opening is more than that: `<tool_call><function=NAME>`."""
    tags = [_TAG.findall(text) for text in opening.before]
    return list(dict.fromkeys(f"</{names[-1]}>" for names in tags if len(names) > 1))


def _params(options: _Arguments, call: Named, closed: tuple[str, ...]) -> Params:
    """Return the tagged parameters of a call that opens like this."""
    tag = options.tag_pattern
    if not tag or options.merge_duplicates or not closed:
        raise ValueError("'xml-inline' needs a 'tag_pattern' and a close, and merges nothing")
    before, found, value = tag.partition("(?P<value>")
    inside, _, after = value.partition(")")
    if not found or inside not in (".*?", ".+?", "[^<]*", "[^<]+"):
        raise ValueError("'tag_pattern' must have a group 'value' of anything")
    opening = named(before.removesuffix(r"\s*").removesuffix(r"\n?").removesuffix(r"\n"), "key")
    close = spelled(after.removeprefix(r"\s*").removeprefix(r"\n?").removeprefix(r"\n")).texts
    texts = (*call.before, *call.after, *opening.before, *opening.after, *close, *closed)
    if sum(map(len, texts)) > _TAGS_CHARS:
        raise ValueError(f"the tags of its calls are more than {_TAGS_CHARS} characters in all")
    trim, untyped = _reading(options, before, after)
    return Params(
        open=marker(*opening.before),
        tag_end=marker(*opening.after),
        close=marker(*close),
        end=marker(*closed),
        calls=marker(*call.before),
        key=rf"(?P<key>{opening.group}){opening.rest}",
        trim=trim,
        untyped=untyped,
    )


def _reading(options: _Arguments, before: str, after: str) -> tuple[Trim, Untyped]:
    """Return how much white space around a value is layout, and how a value without a type is read."""
    parser = options.value_parser
    untyped: Untyped = "json" if parser and parser.name == "json" else "text"
    stripped = parser is not None and parser.args.get("strip", True)
    if stripped or (before.endswith(r"\s*") and after.startswith(r"\s*")):
        return "strip", untyped
    breaks = before.endswith((r"\n", r"\n?")) and after.startswith(r"\n")
    return "line" if breaks else "none", untyped
