"""What a topic holds, beside what was committed of it."""

import pytest

from tokenmill.worker.extent import Extent


@pytest.mark.parametrize(("shared", "agreed"), [(None, 20), (15, 15), (25, 20)])
def test_what_is_committed_ends_where_the_logs_agree(shared: int | None, agreed: int) -> None:
    """And not behind the end of what there is; where nobody can tell, the end is that of the log."""
    assert Extent(10, 20, shared=shared).agreed == agreed
