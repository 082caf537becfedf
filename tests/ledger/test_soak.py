"""Workers that share many threads: each deed at most once, nothing dangles, and the record replays to the same."""

from pathlib import Path

from benchmarks.soak import soak
from tests.ledger.databases import Databases


def test_the_record_of_a_small_soak_is_true(databases: Databases, tmp_path: Path) -> None:
    done = soak(databases, tmp_path, workers=2, threads=6)
    assert done.wrong == []
    assert done.deeds and done.did["say"] and done.did["accepted"] and done.decisions
