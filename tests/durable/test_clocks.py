"""A clock that goes back between a question and its answer, also where requests do not expire."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.durable.workers import Worksite
from toolgate_langchain.errors import LedgerError


def test_it_is_a_clear_error_and_nothing_runs_and_nothing_is_lost(small_site: Worksite) -> None:
    talk = small_site.worker()
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    small_site.clock.now -= timedelta(hours=3)
    with pytest.raises(LedgerError, match="clock went back"):
        talk.resume(answer)
    assert small_site.ran.runs == []
    small_site.clock.now += timedelta(hours=3)
    talk.invoke(None)
    assert small_site.ran.names == ["send"]
