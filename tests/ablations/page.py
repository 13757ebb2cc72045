"""The table of ablations as `docs/topics/faults.md` has it."""

from tests.ablations.ablation import Ablation


def row(ablation: Ablation) -> str:
    """One line: the part, what becomes without it, the test that notices."""
    file, *names = ablation.test.split("::")
    return f"| {ablation.part} | {ablation.harm} | [{names[-1]}](../../tests/{file}) |"
