"""Which format a model writes in, by the name of its repository.

1. Names are compared by their words and numbers: characters between them, and large letters, mean nothing. `Qwen3-8B`,
   `qwen3:8b` and `Qwen_Qwen3-8B-GGUF` are one model.
2. A number counts as a whole: `Qwen3` is not in `Qwen3.5-27B`.
3. Of the names of models in a repository's the first counts, for a model is named before the one that it was made of;
   of several that begin there the longest.
4. A name that is a format's own stands for that format, whatever models it has in it: whoever calls a model `hermes` or
   `qwen3_xml` says what it writes.
"""

import re
from collections.abc import Iterable
from functools import cache

from tokenmill.parser.spec import Format

_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*(?:\.\Z)?")
_POINT = re.compile(r"(?<=\d)[_p](?=\d)")
"""What stands for the point of a version in names that may hold none."""

_ANYTHING = "*"


def suggest_format(model: str, formats: Iterable[Format]) -> Format | None:
    """The format of a model, by its name on Hugging Face or one like it; None if no format names the model."""
    known, name = tuple(formats), _words(model)
    if own := next((format_ for format_ in known if format_.name == model), None):
        return own
    found = [
        (match.start(), -len(pattern), format_)
        for format_ in known
        for pattern in format_.models
        if (match := _compiled(pattern).search(name))
    ]
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _words(name: str) -> str:
    return "-".join(_WORD.findall(_POINT.sub(".", name.lower())))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = (re.escape(_words(part)) for part in pattern.split(_ANYTHING))
    return re.compile(rf"(?<![^-]){'.*'.join(parts)}(?![^-])")
