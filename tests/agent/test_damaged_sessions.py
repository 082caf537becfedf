"""Unsigned sessions with any one value damaged: refused, or gone on with, and nothing unapproved runs."""

import json
from collections.abc import Iterator
from typing import Any

from langchain_core.tools import BaseTool

from tests.agent.talking import CONSEQUENTIAL, READ
from tests.support import Recorder, ScriptedModel, call, says
from toolgate_langchain import ApprovalSession, GatedAgent
from toolgate_langchain.errors import ToolGateError

VALUES: list[Any] = [None, True, 0, 1.5, "", "approve", [], [1], {}, {"v": 1}, {"type": "approve"}]


TURN = says(call("list", "a"), call("deploy", "b", to="x"), call("deploy", "c", to="y"))


def agent(tools: list[BaseTool]) -> GatedAgent:
    """An agent that knows nothing of what was answered before."""
    return GatedAgent(ScriptedModel(script=[TURN]), tools)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and list in a value, with each of its keys or positions."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def test_a_damaged_session_is_refused_or_gone_on_with_and_runs_nothing_that_waits(ran: Recorder) -> None:
    tools = [ran.tool("deploy", CONSEQUENTIAL), ran.tool("list", READ)]
    begun = agent(tools).invoke("go")["session"]
    assert begun.request is not None
    text, answer = json.dumps(begun.to_json()), {"type": "approve", "request_id": begun.request.request_id}
    read = refused = 0
    for number in range(len(list(places(json.loads(text))))):
        for value in VALUES:
            damaged = json.loads(text)
            holder, key = list(places(damaged))[number]
            holder[key] = value
            for given in (None, answer):
                try:
                    session = ApprovalSession.from_json(damaged)
                    agent(tools).resume(session, given)
                    read += 1
                except ToolGateError:
                    refused += 1
                # The other call waits for its own answer, so nothing of the turn runs.
                assert ran.count("deploy") == 0, (key, value)
                # The tools hold what they recorded, and each new agent looks at all that its tools hold.
                ran.runs.clear()
    assert read > 100 and refused > 100
