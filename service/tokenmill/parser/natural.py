"""Text that is sent up to natural boundaries: the end of a line, the end of a sentence, or after so many characters.

How much of a text is out depends on the text alone, not on how it arrived. What arrives at once is sent at once, up to
its last boundary.
"""

_LINE = "\n"
_SENTENCE = ". "
"""A full stop alone ends no sentence: numbers and names of files have some."""


def up_to_boundary(waiting: str, text: str, most: int) -> tuple[str, str]:
    """What may be sent of text that waits and more that follows it, and what waits on: at most `most` characters.

    `waiting` is what the last call answered so.
    """
    buffer, most = waiting + text, max(1, most)
    new = max(0, len(waiting) - 1)  # the full stop may have come before
    line, sentence = buffer.rfind(_LINE, new), buffer.rfind(_SENTENCE, new)
    end = max(line + len(_LINE) if line >= 0 else 0, sentence + len(_SENTENCE) if sentence >= 0 else 0)
    end += max(0, len(buffer) - end - 1) // most * most
    return buffer[:end], buffer[end:]
