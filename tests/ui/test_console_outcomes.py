"""A person at a terminal is asked what became of a call that nobody knows the outcome of."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.ui.requests import request
from tests.ui.terminal import CTRL_D
from tests.ui.test_console import asked
from toolgate_langchain import ApprovalAnswer
from toolgate_langchain.approvals.unknown import OUTCOME_ANSWERS

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="needs pseudo-terminals")

UNKNOWN = request(kind="outcome", allowed=OUTCOME_ANSWERS, reason="it was started once and no result was recorded")
KNOWN = "What the model should know of it (Enter for nothing):"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([("t/d/f/n]: ", "t\n")], {"type": "try_again"}),
        (
            [("]: ", "d\n"), (KNOWN, "it is sent\n")],
            {"type": "done", "message": "it is sent"},
        ),
        ([("]: ", "f\n"), (KNOWN, "\n")], {"type": "failed"}),
        ([("]: ", "n no idea\n")], {"type": "reject", "message": "no idea"}),
        ([("]: ", "y\n"), ("Type one of: t, d, f, n", ""), ("]: ", "t\n")], {"type": "try_again"}),
    ],
)
def test_each_answer_has_its_key_and_a_yes_is_none_of_them(steps: list[tuple[str, str]], said: dict[str, Any]) -> None:
    answer, text = asked(UNKNOWN, *steps, by="ann")
    assert answer == ApprovalAnswer(request_id="r1", by="ann", **said)
    assert "Outcome unknown" in text and "no result was recorded" in text
    assert "Approval needed" not in text


def test_the_end_of_input_leaves_it_unknown() -> None:
    answer, _ = asked(UNKNOWN, ("]: ", CTRL_D))
    assert answer.type == "reject"


def test_a_request_that_expires_says_until_when_it_can_be_answered() -> None:
    asking = request(expires_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    _, text = asked(asking, ("]: ", "y\n"))
    assert "2026-01-02 03:04 UTC" in text
    assert "Can be answered until 2026-01-02 03:04 UTC" in asking.description()
