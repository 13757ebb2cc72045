"""The smallest stream that still fails, for the reader of a failure."""

from collections.abc import Callable, Iterator

from tests.properties.soup import Step, Stream


def shrunk(stream: Stream, fails: Callable[[Stream], bool], tries: int = 3_000) -> Stream:
    """A stream from which nothing can be left out, as far as `tries` allow."""
    going = True
    while going:
        going = False
        for smaller in _smaller(stream):
            tries -= 1
            if tries < 0:
                return stream
            if fails(smaller):
                stream, going = smaller, True
                break
    return stream


def _smaller(stream: Stream) -> Iterator[Stream]:
    """The stream without a step, or without a part of its text, larger parts first."""
    steps = stream.steps
    for number in range(len(steps) if len(steps) > 1 else 0):
        yield stream._replace(steps=steps[:number] + steps[number + 1 :])
    longest = max((len(step.value) for step in steps if step.kind == "feed"), default=0)
    size = longest // 2 or 1
    while size and longest:
        for number, step in enumerate(steps):
            if step.kind != "feed":
                continue
            for at in range(0, len(step.value), size):
                less = Step("feed", step.value[:at] + step.value[at + size :])
                yield stream._replace(steps=(*steps[:number], less, *steps[number + 1 :]))
        size //= 2
