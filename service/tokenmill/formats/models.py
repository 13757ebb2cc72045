"""The format that a model writes, by the name of its repository.

1. Names are compared by their words and numbers; characters between them and case are ignored. `Qwen3-8B`, `qwen3:8b`
   and `Qwen_Qwen3-8B-GGUF` are one model.
2. A number counts as a whole: `Qwen3` is not part of `Qwen3.5-27B`.
3. If a repository's name contains several models, the first counts, as a model is named before the one that it was made
   from. Of several that begin at the same place, the longest counts.
4. A name that is a format's own stands for that format, whatever models it contains: a model called `hermes` or
   `qwen3_xml` writes that format.
"""

import re
from collections.abc import Iterable
from functools import cache

from tokenmill.parser.spec import Format

_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*(?:\.\Z)?")
_POINT = re.compile(r"(?<=\d)[_p](?=\d)")
"""Characters that replace the point of a version in names that may not contain one."""

_ANYTHING = "*"


def suggest_format(model: str, formats: Iterable[Format]) -> Format | None:
    """Return the format of a model, by its name on Hugging Face or a similar one; None if no format names the model."""
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
