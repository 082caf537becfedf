"""`toolgate run`: somebody's own agent, found by its name and driven until it is done."""

from __future__ import annotations

import pytest

from tests.cli.support import here, rows, started, toolgate
from toolgate_langchain.cli.loading import load_agent
from toolgate_langchain.errors import ConfigurationError


def test_an_agent_is_found_by_its_name_and_every_call_is_in_the_summary() -> None:
    done = started("run", "tests.cli.agents:agent", "Clean up.", "--answers", "approve")
    assert (done.returncode, done.stderr) == (0, "")
    assert "User:     Clean up." in done.stdout
    assert rows(done.stdout) == [("look", "allow", "approval rule"), ("drop", "allow", "person (script)")]


@pytest.mark.parametrize("name", ["make", "around"])
def test_so_is_a_function_that_gives_one_and_each_call_is_told_once(name: str) -> None:
    done = here("run", f"tests.cli.agents:{name}", "Clean up.", "--answers", "approve")
    assert (done.returncode, done.stderr) == (0, "")
    assert "User:     Clean up." in done.stdout
    assert rows(done.stdout) == [("look", "allow", "approval rule"), ("drop", "allow", "person (script)")]


def test_what_the_model_says_cannot_steer_the_terminal() -> None:
    done = here("run", "tests.cli.agents:make", "Clean up.", "--answers", "reject")
    assert "Agent:    all \\x1b[2Jdone" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_rejected_call_does_not_run_and_that_is_no_failure() -> None:
    done = here("run", "tests.cli.agents:make", "Clean up.", "--answers", "reject:not today")
    assert done.returncode == 0
    assert rows(done.stdout)[-1] == ("drop", "deny", "person (script)")


def test_as_names_who_answers() -> None:
    done = here("run", "tests.cli.agents:make", "Clean up.", "--answers", "approve", "--as", "ann")
    assert rows(done.stdout)[-1] == ("drop", "allow", "person (ann)")


def test_without_a_terminal_nobody_is_there_so_it_is_refused_and_the_exit_code_says_so() -> None:
    done = toolgate("run", "tests.cli.agents:agent", "Clean up.")
    assert done.returncode == 1
    assert rows(done.stdout)[-1][:2] == ("drop", "deny")
    assert "Nobody was there to answer" in done.stdout


def test_an_agent_with_asynchronous_tools_only_runs_with_async() -> None:
    done = here("run", "tests.cli.agents:only_async", "Clean up.", "--async", "--answers", "approve")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout)[-1] == ("drop", "allow", "person (script)")


def test_an_unattended_agent_needs_no_checkpointer() -> None:
    done = here("run", "tests.cli.agents:unattended", "Clean up.")
    assert done.returncode == 0
    assert rows(done.stdout)[-1][:2] == ("drop", "deny")


def test_an_agent_that_may_ask_and_has_no_checkpointer_is_told_what_to_pass() -> None:
    done = here("run", "tests.cli.agents:without_checkpointer", "Clean up.")
    assert done.returncode == 2
    assert "checkpointer=InMemorySaver()" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_agent_without_a_gate_is_run_with_a_warning_and_no_summary() -> None:
    done = here("run", "tests.cli.agents:ungated", "Clean up.")
    assert done.returncode == 0
    assert "not gated" in done.stderr
    assert "Every call" not in done.stdout


def test_a_tool_that_raises_ends_the_run_with_its_traceback_and_the_summary() -> None:
    done = here("run", "tests.cli.agents:failing", "Clean up.", "--answers", "approve")
    assert done.returncode == 1
    assert "The run failed: RuntimeError: cannot look" in done.stdout
    assert "Traceback" in done.stderr
    assert [row[0] for row in rows(done.stdout)] == ["look"]


def test_a_pause_that_is_no_approval_is_shown_and_nobody_answers_it() -> None:
    done = here("run", "tests.cli.agents:waiting", "Clean up.")
    assert done.returncode == 1
    assert "which colour?" in done.stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("agent", "'agent' is not MODULE:AGENT"),
        (":agent", "not MODULE:AGENT"),
        ("tests.cli.agents:", "not MODULE:AGENT"),
        ("tests.nowhere:agent", "there is no module 'tests.nowhere'"),
        ("tests.cli.agents:nowhere", "has no 'nowhere'; it has: "),
        ("tests.cli.agents:text", "is of type str, which is neither a compiled agent"),
        ("tests.cli.agents:no_agent", "gave a str, which is not a compiled agent"),
        ("tests.cli.agents:with_an_argument", "calling tests.cli.agents:with_an_argument without arguments failed"),
        ("tests.cli.agents:coroutine", "is asynchronous"),
        ("tests.cli.broken:agent", "importing 'tests.cli.broken' failed: ZeroDivisionError"),
        ("tests.cli.incomplete:agent", "importing 'tests.cli.incomplete' failed: No module named 'nowhere_at_all'"),
    ],
)
def test_a_wrong_name_is_told_what_is_wrong_with_it(name: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_agent(name)
    assert says in str(caught.value)


def test_a_wrong_name_is_one_sentence_and_the_exit_code_of_a_wrong_use() -> None:
    done = toolgate("run", "tests.nowhere:agent", "Clean up.")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "toolgate: there is no module 'tests.nowhere' here or among what is installed\n"
