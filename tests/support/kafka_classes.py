"""Kafka's classes, read and checked once: a broker of a test is there in half the time, and takes less than half.

`python -m tests.support.kafka_classes build/kafka-classes.jsa` starts a broker and has Java write down what it loaded;
`make` does that. Tests do without where it was not done; a Java, or jars, for which it was not done do without, too.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.structure.tree import CHECKOUT
from tokenmill.servers import KafkaServer

ARCHIVE = CHECKOUT / "build" / "kafka-classes.jsa"

QUICK = "-XX:TieredStopAtLevel=1"
"""Brokers of tests end long before the work of Java's second compiler would pay."""

WRITE_S = 240.0
"""For a broker to stop and Java to write: seconds, and many times that on a busy machine."""


def java_options() -> list[str]:
    """What Java is told in tests."""
    return [QUICK, f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else [QUICK]


class Writing(KafkaServer):
    """A broker whose Java writes its classes down when it ends."""

    def command(self) -> Sequence[str]:
        java, *options = super().command()
        return [java, QUICK, f"-XX:ArchiveClassesAtExit={self.written}", *options]

    @property
    def written(self) -> Path:
        """What was written."""
        return self.folder / ARCHIVE.name


def write(path: Path) -> None:
    """Write the archive. It gets its name when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, Writing(Path(folder)) as broker:
        broker.process.terminate()
        broker.process.wait(WRITE_S)
        broker.written.rename(path)


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())
