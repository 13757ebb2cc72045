"""Where this program, or a plug-in of it, fails on a record: rule 2 of `Partition` holds then, too.

A worker that ended on it would end on it again after each start, and nobody behind it would be served. So:

1. A codec that fails has not read the record, which becomes a dead letter.
2. A parser that fails leaves nobody knows what: the record becomes a dead letter, what is open of its message is lost,
   or has ended if the record ends it, and all else goes on.
3. A dialect that fails on an event changes no state that a replay has, so the message goes on: an error is written in
   the place of its payloads.
"""

from tokenmill.errors import Defect, raised_at
from tokenmill.partition.message import Choice, Message, Open
from tokenmill.partition.messages import Messages


def defect(problem: Exception) -> Defect:
    """The reason for the dead letter, the same each time. Raises a `MemoryError` again: it is not about the record."""
    if isinstance(problem, MemoryError):
        raise problem
    return Defect(f"a mistake in tokenmill, or in a plug-in: {raised_at(problem)}")


def lose_message(messages: Messages, message: Message) -> list[Choice]:
    """Mark what is open of a message as lost; returns what has to be announced."""
    lost = [choice for choice in message.going_on() if isinstance(choice.state, Open)]
    for choice in lost:
        messages.lose(message, choice, announced=True)
    return lost
