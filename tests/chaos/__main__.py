"""A run of faults, and then the loss of a broker of three: `python -m tests.chaos`, or `make chaos`.

Exit code 1 if anything is wrong.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from tests.chaos import failover
from tests.chaos.run import Options, run
from tokenmill.worker.engine import DELIVERIES


def main() -> int:
    """Run once for each delivery that is asked for."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15, help="of faults, for each delivery (default: 15)")
    parser.add_argument("--seed", type=int, default=1, help="of the plan and the conversations (default: 1)")
    parser.add_argument("--delivery", choices=sorted(DELIVERIES), action="append", help="default: both")
    parser.add_argument("--report", type=Path, action="append", default=[], help="a file, .json or .md")
    parser.add_argument("--keep", type=Path, help="a folder for logs and data, which stay there")
    options = parser.parse_args()
    logging.disable(logging.ERROR)  # the suite's own clients complain of every outage
    passed = True
    for delivery in options.delivery or sorted(DELIVERIES):
        with tempfile.TemporaryDirectory(prefix="tokenmill-chaos-") as folder:
            chosen = Options(delivery, options.seed, 60 * options.minutes)
            place = (options.keep or Path(folder)) / delivery
            report = asyncio.run(run(chosen, place))
            for fault in failover.FAULTS:
                recovery = asyncio.run(failover.run(delivery, fault, place / fault))
                report.lost(recovery.row(), in_time=recovery.passed)
        print(report.markdown())  # noqa: T201 -- it talks to people
        for path in options.report:
            report.write(path.with_stem(f"{path.stem}-{delivery}"))
        passed = passed and report.passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
