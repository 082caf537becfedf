"""A preview of a call that the answer to one beside it released: it too is taken again before the call runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile


class Rows:
    """How many rows a call would take away."""

    def __init__(self) -> None:
        self.left = 3

    def preview(self, arguments: Mapping[str, Any]) -> str:
        return f"deletes {self.left} rows of {arguments['table']}"


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def talk(ran: Recorder, rows: Rows, asynchronous: bool) -> Chat:
    """A chat that waits for an answer about the first of two calls that are alike."""
    profile = ToolProfile(tier=Tier.CONSEQUENTIAL, preview=rows.preview)
    turn = says(call("purge", "a", table="mails"), call("purge", "b", table="mails"))
    talk = chat([turn], [ran.tool("purge", profile)], asynchronous=asynchronous)
    talk.say()
    return talk


def test_a_sibling_released_by_exactly_this_runs_where_its_preview_is_the_same(talk: Chat, ran: Recorder) -> None:
    talk.answer("approve", remember="arguments")
    assert ran.names == ["purge", "purge"]


def test_and_is_refused_as_changed_where_it_is_not(talk: Chat, ran: Recorder, rows: Rows) -> None:
    rows.left = 4_000
    talk.answer("approve", remember="arguments")
    assert ran.names == []
    assert "no longer the same" in talk.result("a") and "no longer the same" in talk.result("b")
