"""A worker dies at any step between request and recorded result: nothing unapproved, repeated, lost or left open."""

from pathlib import Path

from tests.behaviours.processes import run_child
from tests.durable.points import CHECKPOINTER, LEDGER, READS
from tests.ledger.databases import Databases
from toolgate_langchain.approvals.ledger import Ledger

BOTH = 28
"""How many steps there are at least, and the same ones in either form and on either database; today 32."""

_DYING = Path(__file__).parent / "children" / "dying.py"


def test_at_every_step_another_worker_brings_the_conversation_to_its_end(databases: Databases, tmp_path: Path) -> None:
    """After each change in ledger and checkpoints and at tools: on SQLite, or on PostgreSQL with workers that await.

    Of the steps that both have SQLite has the even ones and PostgreSQL the odd ones; each has all the later ones.
    What is right before a change is what is right after the one before it; `python -m tests.durable.crash --every` dies
    there as well, while changes are awaited, and at each step in both ways on both databases.
    """
    root = tmp_path / "conversations"
    root.mkdir()
    form, asynchronous, first = ("after_model", False, 0) if databases.postgres is None else ("after_agent", True, 1)
    url = databases.url.replace("timeout=0.2", "timeout=30")
    about = {"folder": str(root), "url": url, "form": form, "asynchronous": asynchronous}
    found = run_child(_DYING, {**about, "numbers": [*range(first, BOTH, 2)], "all_from": BOTH})
    assert found["faults"] == []
    assert found["points"] >= BOTH


def test_no_method_of_ledger_and_checkpointer_is_left_out() -> None:
    assert {name for name in dir(Ledger) if not name.startswith("_")} - {"quiet"} <= {*LEDGER, "keeps_record"}
    assert {"put", "put_writes", "get_tuple", "list", "aput", "aput_writes"} <= set(CHECKPOINTER)
    assert (
        READS & {"answer", "claim", "end", "expire", "grant", "note", "start", "try_again", "put", "put_writes"}
        == set()
    )
