"""An answer without an interrupt's id was given again to a later question, which nobody had seen.

LangGraph keeps such an answer for as long as the root waits at one checkpoint. Whoever went on by the id of an
interrupt, or without any answer, had the old one come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from tests.agent.inside import as_tool, cleaner
from tests.agent.talking import CONSEQUENTIAL
from tests.graph.support import asks_inside
from tests.inside.support import FORMS, GRAPHS, outer
from tests.subagents.support import as_tool as graph_as_tool
from tests.subagents.support import inner, makes
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import GatedAgent, Tier, ToolGate, ToolProfile

KINDS = ("its own calls", "a GatedAgent inside", "an agent of LangGraph inside")


def asked_of_three(form: str, kind: str, gate: ToolGate, ran: Recorder, asynchronous: bool) -> Chat:
    """A conversation that waits for an answer to the first of three calls of one turn."""
    calls = [call("rm", f"r{x}", x=x) for x in (1, 2, 3)]
    tools: Sequence[BaseTool] = [ran.tool("rm", CONSEQUENTIAL)]
    turn = says(*calls)
    if kind != "its own calls":
        agent = cleaner(gate, ran, *calls) if kind == "a GatedAgent inside" else inner(gate, makes(*calls), tools)
        tools = [as_tool(agent) if kind == "a GatedAgent inside" else graph_as_tool(agent)]
        turn = says(call("helper", "h"))
    talk = outer(form, [turn, AIMessage("done")], tools, gate, asynchronous=asynchronous)
    talk.say()
    return talk


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [*FORMS, *GRAPHS])
def test_a_yes_without_ids_is_not_used_again_for_a_later_call_after_a_no_by_the_interrupts_id(
    ran: Recorder, asynchronous: bool, form: str, kind: str
) -> None:
    talk = asked_of_three(form, kind, ToolGate(answers="lenient"), ran, asynchronous)
    talk.resume({"type": "approve"})
    second = talk.request
    (waiting,) = talk.agent.get_state(talk.config).interrupts
    talk.resume({waiting.id: {"type": "reject", "request_id": second.request_id}})
    assert talk.request.arguments == {"x": 3} and ran.count("rm") == 0
    talk.answer("reject")
    assert (talk.requests, ran.runs) == ([], [("rm", {"x": 1})])


@pytest.mark.parametrize("kind", KINDS)
def test_a_yes_without_ids_is_not_used_again_where_the_run_is_gone_on_with_without_an_answer(
    ran: Recorder, asynchronous: bool, kind: str
) -> None:
    talk = asked_of_three("in the loop", kind, ToolGate(answers="lenient"), ran, asynchronous)
    talk.resume({"type": "approve"})
    for _ in range(3):
        talk.invoke(None)
        assert talk.request.arguments == {"x": 2} and ran.runs == []
    talk.resume({"type": "approve"})
    talk.answer("reject")
    # Calls of one turn run beside each other, in whatever order.
    assert sorted(arguments["x"] for _, arguments in ran.runs) == [1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_cannot_be_read_costs_one_try_of_one_request(
    ran: Recorder, asynchronous: bool, kind: str
) -> None:
    talk = asked_of_three("in the loop", kind, ToolGate(), ran, asynchronous)
    talk.resume("yes")
    for _ in range(3):
        talk.invoke(None)
    assert "2 more tries" in talk.request.error
    (waiting,) = talk.agent.get_state(talk.config).interrupts
    answer: Any = {"type": "approve", "request_id": talk.request.request_id}
    talk.resume({waiting.id: answer})
    assert (talk.request.arguments, talk.request.error) == ({"x": 2}, "")


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_tool_of_an_agent_inside_is_not_given_a_yes_to_an_earlier_question_for_an_answer_to_its_own(
    ran: Recorder, asynchronous: bool, kind: str
) -> None:
    def turn(messages: Sequence[BaseMessage]) -> AIMessage:
        turns = sum(isinstance(one, AIMessage) for one in messages)
        proposed = [[call("rm", "r1", x=1), call("rm", "r2", x=2)], [call("asks", "a")]]
        return says(*proposed[turns]) if turns < len(proposed) else AIMessage("done")

    gate, model = ToolGate(), ScriptedModel(script=[turn] * 6)
    tools = [ran.tool("rm", CONSEQUENTIAL), asks_inside(ran, "asks", ToolProfile(tier=Tier.READ_ONLY))]
    gated = kind == "a GatedAgent inside"
    tool = (
        as_tool(GatedAgent(model, tools, gate, name="cleaner")) if gated else graph_as_tool(inner(gate, model, tools))
    )
    talk = outer("in the loop", [says(call("helper", "h")), AIMessage("done")], [tool], gate, asynchronous=asynchronous)
    talk.say()
    talk.resume({"type": "approve", "request_id": talk.request.request_id})
    (waiting,) = talk.agent.get_state(talk.config).interrupts
    no: Any = {"type": "reject", "request_id": talk.request.request_id}
    talk.resume({waiting.id: no})
    assert ran.runs == [("rm", {"x": 1})], "the tool went on with what was no answer to it"
    # A GatedAgent's tool cannot wait for somebody in the middle; an agent of LangGraph shows its question.
    shown = [one.value for one in talk.agent.get_state(talk.config).interrupts]
    assert shown == ([] if gated else [{"question": "asks"}])
