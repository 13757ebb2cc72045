"""Render conversations with a chat template, in a process of its own."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

RENDER_S = 20
"""Seconds for all conversations together, in the process that renders them."""


BOS, EOS = "bos_token", "eos_token"

NO_TOKENS = dict.fromkeys((BOS, EOS, "pad_token", "unk_token"), "")
"""What templates expect a tokenizer to give them."""

_WRITES_EOS = re.compile(rf"\b{EOS}\b")


class Template(msgspec.Struct, frozen=True):
    """A chat template, with the special tokens that its model's tokenizer gives it."""

    text: str
    tokens: dict[str, str] = {}
    """Tokens by the template's names for them."""

    @property
    def lacks_eos(self) -> bool:
        """Whether it writes the end of a turn although that is unknown: several turns would run into one."""
        return EOS not in self.tokens and bool(_WRITES_EOS.search(self.text))

    @property
    def variables(self) -> dict[str, str]:
        """The tokens, empty where they are not known."""
        return NO_TOKENS | self.tokens

    def without_bos(self, rendered: str) -> str:
        """Return a prompt without the token at its beginning: servers put that before what they complete."""
        return rendered.removeprefix(self.variables[BOS])


class Rendering(msgspec.Struct, frozen=True):
    """The result of one conversation."""

    text: str | None = None
    """Rendered text. None: it could not be rendered."""
    problem: str = ""


class CannotRender(Exception):
    """The template can't be tried at all; the message tells what to do."""


def read_template(path: Path) -> Template:
    """Return the template of a file: all of it, or that in a `tokenizer_config.json` or a `chat_template.json`.

    A configuration beside it may have the model's special tokens. Of several templates of one model the one for tools
    counts. Raises `CannotRender`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # a mark of byte order would begin every prompt
        if path.suffix != ".json":
            return Template(text)
        found = json.loads(text)
    except (OSError, ValueError) as problem:
        raise CannotRender(f"{path}: {problem}") from problem
    template = found.get("chat_template") if isinstance(found, dict) else None
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("tool_use") or named.get("default")
    if not isinstance(template, str):
        raise CannotRender(f"{path} has no chat_template; newer models have it in a file chat_template.jinja")
    return Template(template, _tokens(found))


def _tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the special tokens of a tokenizer: each a string, or an object with its content."""
    said = {name: value for name, value in config.items() if name.endswith("_token")}
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in said.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def prompt(template: Template, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the prompt of a model that is to answer these messages and has these tools. Raises `CannotRender`."""
    conversation = {"messages": list(messages), "tools": list(tools), "add_generation_prompt": True}
    (rendering,) = render(template.text, [template.variables | conversation])
    if rendering.text is None:
        raise CannotRender(f"the template does not render: {rendering.problem}")
    return template.without_bos(rendering.text)


def render(template: str, conversations: Sequence[dict[str, Any]], *, within_s: int = RENDER_S) -> list[Rendering]:
    """Return the template's output for each of the conversations, which are the keyword arguments of a rendering.

    Raises `CannotRender` where Jinja2 is missing, or the template takes too much time or memory.
    """
    if find_spec("jinja2") is None:
        raise CannotRender("templates need Jinja2: pip install 'tokenmill[templates]'")
    request = {"template": template, "conversations": list(conversations), "cpu_s": within_s}
    try:
        run = subprocess.run(
            [sys.executable, "-m", "tokenmill.templates.sandbox"],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=3 * within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotRender(f"the template did not end within {3 * within_s} seconds") from None
    if run.returncode:
        raise CannotRender(
            f"the template did not end within {within_s} seconds of processor time, or took more memory than it may"
        )
    return [msgspec.convert(answer, Rendering) for answer in json.loads(run.stdout)]
