"""Who answers: only what can be read exactly is an identity, and only the word `True` lets anybody answer."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.ui.requests import request
from toolgate_langchain import ApprovalRequest
from toolgate_langchain.approvals.identity import readable_identity, why_not
from toolgate_langchain.approvals.steps import run_steps

LONGEST = 256


@pytest.mark.parametrize("identity", ["ann", "ann@x.org", "Ann Lee", "Zoë", "李", "x" * LONGEST])
def test_what_can_be_read_exactly_is_an_identity(identity: str) -> None:
    assert readable_identity(identity) == identity


@pytest.mark.parametrize(
    "given",
    [
        None, True, 7, b"ann", ["ann"], "", " ", " ann", "ann ", "ann\n", "x" * (LONGEST + 1), "an\u200bn", "\u202enna",
        "ann\x00", "a\tn", "ann\nlee", "ann\u00a0lee", "\ud800", "ann\u2003lee", "ann" + " " * 100 + "lee",
        "an\u00adn", "\ue000",
    ],
    ids=repr,
)  # fmt: skip
def test_what_could_pass_for_somebody_else_is_nobody(given: Any) -> None:
    assert readable_identity(given) is None


@pytest.mark.parametrize("said", [False, None, 1, "yes", "true", [True]], ids=repr)
def test_anything_but_true_is_a_no(said: Any) -> None:
    assert run_steps(why_not(lambda _, __: said, request(), "ann")) == "ann may not answer this request"


def test_true_is_a_yes() -> None:
    assert run_steps(why_not(lambda _, by: by == "ann", request(), "ann")) == ""


def test_nobody_is_told_that_who_answers_must_be_named() -> None:
    assert "must be named" in run_steps(why_not(lambda _, by: by is not None, request(), None))


def test_a_rule_that_raises_says_no_and_the_operator_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: ApprovalRequest, __: str | None) -> bool:
        raise OSError("the directory is gone")

    with caplog.at_level(logging.ERROR, logger="toolgate_langchain"):
        assert run_steps(why_not(fails, request(), "ann")) == "ann may not answer this request"
    assert request().request_id in caplog.text and "the directory is gone" in caplog.text
