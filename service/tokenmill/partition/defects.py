"""What happens when this program, or a plug-in, fails on a record: rule 2 of `Partition` holds then, too.

A worker that died of such a record would die of it again after each start and never get to the records after it. So:

1. If a codec fails, the record becomes a dead letter, and the codec's state stays as it was.
2. If a parser fails, its state is unknown: the record becomes a dead letter, and the open choices of its message are
   lost, or have ended if the record ends them. All other messages continue.
3. If a dialect fails on an event, no state that a replay has is changed, so the message continues: an error is written
   in place of its payloads.
"""

from tokenmill.errors import Defect, raised_at
from tokenmill.partition.message import Choice, Message, Open
from tokenmill.partition.messages import Messages


def defect(problem: Exception) -> Defect:
    """The reason for the dead letter, the same each time. Raises a `MemoryError` again, as no record is its cause."""
    if isinstance(problem, MemoryError):
        raise problem
    return Defect(f"a mistake in tokenmill, or in a plug-in: {raised_at(problem)}")


def lose_message(messages: Messages, message: Message) -> list[Choice]:
    """Mark the open choices of a message as lost; returns those that have to be announced."""
    lost = [choice for choice in message.going_on() if isinstance(choice.state, Open)]
    for choice in lost:
        messages.lose(message, choice, announced=True)
    return lost
