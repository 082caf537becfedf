"""Arguments that no checkpointer can carry are an error for the model of a graph, not the end of its run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graph.support import graph_chat
from tests.support import Recorder, call, says
from toolgate_langchain import Tier, ToolProfile

READ = ToolProfile(tier=Tier.READ_ONLY)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("value", [10**400, "\ud800", object(), 1], ids=["400 digits", "a surrogate", "object", "fits"])
def test_a_call_that_no_checkpointer_can_carry_goes_back_to_the_model(value: Any, asynchronous: bool) -> None:
    ran = Recorder()
    script = [says(call("do", "bad", x=value), call("do", "good", x=2))]
    talk = graph_chat(script, [ran.tool("do", READ)], asynchronous=asynchronous)
    talk.say()
    assert sorted(arguments["x"] for _, arguments in ran.runs) == ([1, 2] if value == 1 else [2])
    assert ("arguments are not valid" in talk.result("bad")) is (value != 1)
    assert talk.messages[-1].content == "done"
