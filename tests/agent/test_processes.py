"""Resuming in another process, and living without langchain and langgraph."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.agent.talking import KEY
from tests.behaviours.processes import run_bare_child, run_child

CHILDREN = Path(__file__).parent / "children"


def step(asynchronous: bool, ledger: Path | None = None, **given: Any) -> dict[str, Any]:
    shared = {} if ledger is None else {"ledger": f"sqlite:///{ledger}"}
    return run_child(CHILDREN / "step.py", {"key": KEY.hex(), "asynchronous": asynchronous, "input": given, **shared})


def approval(stood: dict[str, Any]) -> dict[str, Any]:
    return {"session": stood["session"], "answer": {"type": "approve", "request_id": stood["request"][1]}}


def test_each_step_in_a_process_of_its_own_is_as_in_one(asynchronous: bool) -> None:
    first = step(asynchronous, messages="go")
    assert (first["request"][0], first["ran"]) == ("x", [])
    second = step(not asynchronous, **approval(first))
    assert (second["request"][0], second["ran"], second["answer"]) == ("y", [], "accepted")
    third = step(asynchronous, **approval(second))
    assert (third["request"], sorted(third["ran"])) == (None, ["x", "y"])
    assert third["results"] == ["deployed to x", "deployed to y"]


def test_two_processes_that_resume_the_same_session_run_its_calls_once(tmp_path: Path, asynchronous: bool) -> None:
    ledger = tmp_path / "ledger.db"
    first = step(asynchronous, ledger, messages="go")
    second = step(asynchronous, ledger, **approval(first))
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: step(asynchronous, ledger, **approval(second)), range(2)))
    assert sorted(one["answer"] for one in both) == ["accepted", "already_answered"]
    assert sorted(sorted(one["ran"]) for one in both) == [[], ["x", "y"]]
    # The session before the last: its answer is on record as well.
    assert step(asynchronous, ledger, **approval(first))["answer"] == "already_answered"


def test_a_process_that_died_after_its_calls_ran_is_gone_on_from_and_nothing_is_repeated(
    tmp_path: Path, asynchronous: bool
) -> None:
    ledger = tmp_path / "ledger.db"
    first = step(asynchronous, ledger, messages="go")
    second = step(asynchronous, ledger, **approval(first))
    assert sorted(step(asynchronous, ledger, **approval(second))["ran"]) == ["x", "y"]
    again = step(asynchronous, ledger, session=second["session"])  # what the third gave was lost
    assert (again["request"], again["ran"], len(again["results"])) == (None, [], 2)
    assert again["session"]["status"] == "done"


def test_new_words_in_another_process_close_what_is_pending(asynchronous: bool) -> None:
    first = step(asynchronous, messages="go")
    second = step(asynchronous, session=first["session"], messages="again")
    assert second["ran"] == [] and len(second["results"]) == 2
    assert all("not executed" in text for text in second["results"])
    assert second["request"][1] != first["request"][1]


def test_with_langchain_core_alone_an_agent_is_driven_to_its_end_with_an_approval() -> None:
    said = run_bare_child(CHILDREN / "alone.py", {})
    assert (said["asked"], said["ran"], said["last"], said["done"]) == ("deploy", ["x"], "done", True)
    assert said["loaded"] == []


def test_naming_a_host_that_needs_the_extra_raises_an_import_error_that_names_it() -> None:
    said = run_bare_child(CHILDREN / "alone.py", {})
    for name in ("middleware", "drive"):
        kind, is_import_error, words = said[name]
        assert (kind, is_import_error) == ("MissingExtraError", True)
        assert "pip install 'toolgate-langchain[agents]'" in words
