"""Several processes answer and resume the same paused threads at once on PostgreSQL."""

from pathlib import Path

from tests.behaviours.processes import run_child
from tests.ledger.databases import Databases

_RACING = Path(__file__).parent / "children" / "racing.py"


def test_each_deed_is_done_once_and_every_surplus_answer_is_told_so(postgresql: Databases, tmp_path: Path) -> None:
    """Eight processes; `python -m tests.durable.race` has two hundred threads for them."""
    root = tmp_path / "threads"
    root.mkdir()
    given = {"folder": str(root), "url": postgresql.url, "processes": 8, "threads": 9}
    assert run_child(_RACING, given) == {"found": []}
