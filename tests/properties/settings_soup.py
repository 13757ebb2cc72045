"""Random configurations: files and variables of real keys, most values right, some wrong, with a secret among them.

Everything is drawn from a seed: the same number is the same configuration, on every machine.
"""

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from tokenmill.config import Config
from tokenmill.config.base import SECRETS
from tokenmill.config.read import LISTS, PREFIX

SECRET = "hunter-2-is-secret"
"""Stands in the values of secrets, and nowhere else."""

UNKNOWN = "no_such_key"
"""Begins keys and sections that there are not."""

VALUES: list[Any] = [
    True, False, 0, 1, -1, 3, 100, 65_535, 65_536, 2**31, 2**63, 10**40, -(10**40), 0.0, 0.5, -0.5, 1e-300, 1e300,
    float("inf"), float("nan"), "", " ", "a", "0", "true", "a:1", "host:9092", "host:9092,", "hermes", "openai",
    "native", "sse+openai", "sse+", "exactly-once", "memory://", "rediss://a", "http://a", "redis://[", "a/b", "..",
    "x" * 300, "\x00", "\x7f\u202e", "é\U0001f600", "'; DROP", "${HOME}", "../../etc", "{", "[", "null", "{}", "[]",
    '["hermes"]',
    [], ["hermes"], ["hermes", "nope"], [1, "a"], [[]], {}, {"a": 1}, {"name": "f"}, [{}], [{"topic": "t"}],
]  # fmt: skip
"""For any key, right or wrong."""

OWN: dict[str, list[Any]] = {
    "security_protocol": ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "sasl_ssl"],
    "sasl_mechanism": ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"],
    "sasl_token_provider": ["a:b", "a"],
    "delivery": ["at-least-once", "exactly-once"],
    "format": ["hermes", "qwen3_xml", ["hermes", "plain"], "herms", []],
    "start_tag": ["<a>"],
    "dialect": ["native", "agent", "natve"],
    "events": [["tool-call"], ["tool-cal"]],
    "topic": ["t", "events", "a b"],
    "kind": ["vllm", "openai", "vlm"],
    "models": [["m"], ["m", "n"], [""]],
    "urls": [["http://a:8000"], ["http://a", "https://b/c"], ["ftp://a"], [f"http://u:{SECRET}@h"]],
    "tools": [[{"function": {"name": "f"}}], [{"function": 1}]],
}
"""For keys of that name: values that mean something to it."""

URLS = [f"redis://u:{SECRET}@h:6379/0", f"http://u:{SECRET}@h", f"redis://u:{SECRET}@h:x", f"unix://{SECRET}", SECRET]
BROKEN = [
    "[",
    "]",
    "=",
    '"',
    "\n[kafka]\n",
    "a = ",
    "\x00",
    "\ud800",
    "[[kafka]]\n",
    "kafka = 1\n",
    "\n[a.b.c]\n",
    "a = 1e",
]

_SECTIONS = {field.name: field.type for field in msgspec.structs.fields(Config) if field.name not in LISTS}
KEYS = {name: [field.name for field in msgspec.structs.fields(kind)] for name, kind in _SECTIONS.items()}


class Document(NamedTuple):
    """One configuration."""

    lines: tuple[str, ...]
    """Of the file."""
    variables: tuple[tuple[str, str], ...]
    unknown: frozenset[str]
    """Keys that are unknown, whatever else is wrong; none if the file may be no TOML."""

    @property
    def data(self) -> bytes:
        """The file."""
        return "\n".join(self.lines).encode(errors="surrogatepass")

    def names(self, key: str) -> bool:
        """Whether it has this section or key."""
        section, _, last = key.partition(".")
        word = json.dumps(last) if last else f"[{section}]"
        return any(word in line for line in self.lines) or any(last.upper() in name for name, _ in self.variables)


def document_of(seed: int) -> Document:
    """The configuration of this seed."""
    dice = random.Random(f"settings {seed}")
    lines: list[str] = []
    variables: dict[str, str] = {}
    unknown: set[str] = set()
    names = dice.sample(list(KEYS), dice.choice((0, 1, 1, 2, 3, len(KEYS))))
    if dice.random() < 0.1:
        names.append(f"{UNKNOWN}_section")
        unknown.add(names[-1])
    for name in names:
        lines.append(f"[{name}]")
        for key in _keys(dice, name):
            value = _value(dice, key)
            known = key in KEYS.get(name, ())
            if dice.random() < 0.3:
                variables[f"{PREFIX}{name}__{key}".upper()] = value if isinstance(value, str) else json.dumps(value)
            else:
                lines.append(f"{json.dumps(key)} = {toml(value)}")
            if not known and name in KEYS:
                unknown.add(f"{name}.{key}")
    lines += _lists(dice, variables)
    if dice.random() < 0.12 and lines:
        _break(dice, lines)
        unknown.clear()
    return Document(tuple(lines), tuple(_possible(variables)), frozenset(unknown))


def _possible(variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    """As an environment can hold them: no null bytes, and bytes that are no UTF-8 as halves of surrogate pairs."""
    for name, text in variables.items():
        yield name, text.replace("\x00", "\udcff")


def _keys(dice: random.Random, section: str) -> list[str]:
    own = KEYS.get(section, ["a"])
    keys = dice.sample(own, min(len(own), dice.choice((0, 1, 1, 2, 3, 6))))
    secrets = [key for key in own if key in SECRETS]
    if secrets and dice.random() < 0.4:
        keys.append(dice.choice(secrets))
    if dice.random() < 0.1:
        keys.append(f"{UNKNOWN}_{dice.randrange(3)}")
    return list(dict.fromkeys(keys))


def _value(dice: random.Random, key: str) -> Any:
    if key == "url":
        return dice.choice(URLS)
    if key in SECRETS:
        return dice.choice((SECRET, [SECRET], {"a": SECRET}, [{SECRET: 1}], f'["{SECRET}', f'{{"{SECRET}": 1}}'))
    if key in OWN and dice.random() < 0.7:
        return dice.choice(OWN[key])
    return dice.choice(VALUES)


def _lists(dice: random.Random, variables: dict[str, str]) -> Iterator[str]:
    for name, kind in LISTS.items():
        if dice.random() < 0.05:
            variables[PREFIX + name.upper()] = dice.choice(
                ("[", "{}", '[{"topic":"t"}]', "[1]", "[{}]", '[{"topic":5}]', "x", '[{"models":["m"],"urls":["u"]}]')
            )
        for _ in range(dice.choice((0, 0, 0, 0, 1, 2))):
            yield f"[[{name}]]"
            for key in dice.sample(kind.__struct_fields__, dice.randint(0, 4)):
                yield f"{key} = {toml(_value(dice, key))}"


def _break(dice: random.Random, lines: list[str]) -> None:
    """Something that may be no TOML."""
    at = dice.randrange(len(lines))
    line = lines[at]
    cut = dice.randint(0, len(line))
    lines[at] = line[:cut] + dice.choice(("", *BROKEN)) + line[cut + dice.choice((0, 0, 1, 5)) :]


def toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
