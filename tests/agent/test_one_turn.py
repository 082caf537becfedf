"""One turn of the model: what is asked, what runs, and what the model hears of it."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, InvalidToolCall, ToolMessage
from langchain_core.tools import tool

from tests.agent.talking import CONSEQUENTIAL, READ, talk
from tests.support import Recorder, ScriptedModel, call, says, with_profile
from toolgate_langchain import ApprovalSession, GatedAgent, ToolGate
from toolgate_langchain.errors import HeuristicError


def test_text_only_passes_through_nothing_is_asked_and_nothing_stored(ran: Recorder, asynchronous: bool) -> None:
    told = talk([says(text="hello")], [], ran, asynchronous=asynchronous).say()
    assert told.done and told.messages[-1].text == "hello"
    assert (told.session.turn, told.session.rules, told.session.answers) == ({}, {}, ())


def test_two_calls_one_request_then_the_other_and_no_tool_ran_in_between(ran: Recorder, asynchronous: bool) -> None:
    deploy = ran.tool("deploy", CONSEQUENTIAL)
    turn = says(call("deploy", "a", to="x"), call("deploy", "b", to="y"))
    told = talk([turn], [deploy], ran, asynchronous=asynchronous).say()
    assert (told.request.tool_call_id, told.request.position, told.request.of) == ("a", 1, 2)
    told.answer()
    assert (told.request.tool_call_id, ran.runs) == ("b", [])
    told.answer()
    assert told.done and ran.runs == [("deploy", {"to": "x"}), ("deploy", {"to": "y"})]
    assert len(told.model.seen) == 2  # both outcomes reached the model at once


def test_what_needs_nobody_does_not_run_before_the_answer_and_keeps_its_place(
    ran: Recorder, asynchronous: bool
) -> None:
    tools = [ran.tool("deploy", CONSEQUENTIAL), ran.tool("list", READ)]
    turn = says(call("list", "a"), call("deploy", "b"), call("list", "c"), text="Let me see.")
    told = talk([turn], tools, ran, asynchronous=asynchronous).say()
    assert ran.runs == [] and told.request.tool_name == "deploy"
    assert told.messages[-1].text == "Let me see."
    told.answer()
    assert [ran.count("list"), ran.count("deploy")] == [2, 1]
    assert list(told.results) == ["a", "b", "c"]


def test_approve_reject_approve_runs_two_refuses_one_and_goes_on(ran: Recorder, asynchronous: bool) -> None:
    turn = says(call("deploy", "a", to=1), call("deploy", "b", to=2), call("deploy", "c", to=3))
    told = talk([turn], [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous).say()
    told.answer().answer("reject", message="not that one").answer()
    assert ran.runs == [("deploy", {"to": 1}), ("deploy", {"to": 3})]
    assert "not that one" in told.results["b"] and told.messages[-1].text == "done"


def test_invalid_arguments_and_an_unknown_tool_get_an_error_result_and_the_good_call_is_asked(
    ran: Recorder, asynchronous: bool
) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "integer"}}, "required": ["to"]}
    deploy = ran.tool("deploy", CONSEQUENTIAL, schema=schema)
    turn = says(call("deploy", "a", to="nowhere"), call("deplöy", "b"), call("deploy", "c", to=1))
    told = talk([turn], [deploy], ran, asynchronous=asynchronous).say()
    assert told.request.tool_call_id == "c"
    told.answer()
    assert ran.runs == [("deploy", {"to": 1})]
    assert "was not executed" in told.results["a"] and "was not executed" in told.results["b"]
    assert list(told.results) == ["a", "b", "c"]


def test_missing_and_repeated_ids_get_fresh_ones_and_each_call_is_asked_on_its_own(
    ran: Recorder, asynchronous: bool
) -> None:
    turn = says(call("deploy", None, to=1), call("deploy", "a", to=2), call("deploy", "a", to=3), call("", "b"))
    told = talk([turn], [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous).say()
    told.answer("reject").answer().answer("reject")
    assert ran.runs == [("deploy", {"to": 2})]
    message = told.messages[1]
    assert isinstance(message, AIMessage)
    assert list(told.results) == [one["id"] for one in message.tool_calls] and len(told.results) == 4
    assert "was not executed" in told.results["b"]


def test_a_turn_of_calls_that_cannot_be_read_goes_back_to_the_model(ran: Recorder, asynchronous: bool) -> None:
    broken = InvalidToolCall(name="list", args="{", id="a", error=None, type="invalid_tool_call")
    script = [AIMessage("", invalid_tool_calls=[broken]), says(call("list", "b"))]
    told = talk(script, [ran.tool("list", READ)], ran, asynchronous=asynchronous).say()
    assert told.done and ran.names == ["list"]
    assert "write them as one JSON object" in told.results["a"]


def test_a_call_that_cannot_be_read_beside_one_that_can(ran: Recorder, asynchronous: bool) -> None:
    broken = InvalidToolCall(name="list", args="{", id="a", error=None, type="invalid_tool_call")
    turn = AIMessage("", tool_calls=[call("list", "b")], invalid_tool_calls=[broken])
    told = talk([turn], [ran.tool("list", READ)], ran, asynchronous=asynchronous).say()
    assert set(told.results) == {"a", "b"} and ran.names == ["list"]


def test_more_than_twenty_questions_of_a_turn_are_not_asked(ran: Recorder, asynchronous: bool) -> None:
    turn = says(*[call("deploy", f"c{number}", to=number) for number in range(22)])
    told = talk([turn], [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous).say()
    assert told.request.of == 20
    for _ in range(20):
        told.answer()
    assert told.done and ran.count("deploy") == 20
    assert "was not executed" in told.results["c20"] and "was not executed" in told.results["c21"]


def test_a_heuristic_that_raises_fails_the_run_and_nothing_of_the_turn_is_kept(
    ran: Recorder, asynchronous: bool
) -> None:
    def broken(call: object, context: object) -> bool:
        raise RuntimeError("broken")

    kept: list[ApprovalSession] = []
    gate = ToolGate(heuristics=[broken])
    turn = says(call("deploy", "a"), call("list", "b"))
    tools = [ran.tool("deploy", CONSEQUENTIAL), ran.tool("list", READ)]
    told = talk([turn], tools, ran, asynchronous=asynchronous, gate=gate, keep=kept.append)
    with pytest.raises(HeuristicError) as raised:
        told.say()
    assert isinstance(raised.value.__cause__, RuntimeError) and ran.runs == []
    assert [len(session.messages) for session in kept] == [1]


def test_calls_of_one_turn_run_beside_each_other_where_they_are_awaited() -> None:
    arrived = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for the other."""
        await arrived.wait()
        return "waited"

    @tool
    async def arrive() -> str:
        """Let the other go on."""
        arrived.set()
        return "arrived"

    async def both() -> list[str]:
        model = ScriptedModel(script=[says(call("wait", "a"), call("arrive", "b"))])
        agent = GatedAgent(model, [with_profile(wait, READ), with_profile(arrive, READ)])
        output = await asyncio.wait_for(agent.ainvoke("go"), 10)
        return [message.text for message in output["messages"] if isinstance(message, ToolMessage)]

    assert asyncio.run(both()) == ["waited", "arrived"]
