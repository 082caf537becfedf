"""What a model may write in a call breaks no run, hides nothing, and is not taken for another call."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import Surface, Tier, ToolGate, ToolGateMiddleware, ToolProfile, Verdict
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.testing.attacks.shown import UNCARRIED

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
ALLOWS_ROUTINE = Surface("chat", routine=Verdict.ALLOW)


class RawModel(ScriptedModel):
    """Says messages as they are, also such as no constructor would let through."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turn = self.script[len(self._seen)] if len(self._seen) < len(self.script) else AIMessage("done")
        self._seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=turn(messages) if callable(turn) else turn)])


def raw_chat(script: list[Any], tools: list[Any], gate: ToolGate | None = None) -> Chat:
    model, gate = RawModel(script=script), gate or ToolGate()
    agent = create_agent(model, tools, middleware=[ToolGateMiddleware(gate)], checkpointer=InMemorySaver())
    return Chat(agent, model, gate)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


UNSTORABLE: dict[str, Any] = {
    "NaN": {"a": float("nan")},
    "infinity": {"a": float("inf")},
    "400 digits": {"a": 10**400},
    "5000 digits": {"a": 10**5_000},
    "beyond 64 bits": {"a": 2**64},
    "10,000 levels": {"a": nested(10_000)},
    "5 MB": {"a": "x" * 5_000_000},
    "a surrogate": {"a": "\ud800"},
    "a surrogate as a name": {"\ud800": 1},
    "a number as a name": {1: 2},
    "a tuple": {"a": (1, 2)},
    "an object of Python": {"a": object()},
    "a list": [1, 2],
    "a text": "rm",
    "nothing": None,
}


@pytest.mark.parametrize("profile", [READ, SEND], ids=["allowed", "asked"])
@pytest.mark.parametrize("arguments", list(UNSTORABLE.values()), ids=list(UNSTORABLE))
def test_arguments_that_cannot_be_carried_exactly_are_an_error_for_the_model(
    arguments: Any, profile: ToolProfile
) -> None:
    """The checkpointer never sees them; the sibling is dealt with as ever."""
    bad: Any = {"name": "do", "args": arguments, "id": "bad", "type": "tool_call"}
    for beside in (False, True):
        ran = Recorder()
        calls = [bad, call("good", "g")] if beside else [bad]
        talk = raw_chat(
            [AIMessage("").model_copy(update={"tool_calls": calls})], [ran.tool("do", profile), ran.tool("good", READ)]
        )
        talk.say()
        assert ran.names == (["good"] if beside else [])
        assert "arguments are not valid" in talk.result("bad")
        assert talk.requests == []
        assert talk.messages[-1].content == "done"


def test_a_large_text_that_can_be_carried_is_asked_about_or_runs() -> None:
    """The positive control of the ones above."""
    for profile, asked in ((READ, 0), (SEND, 1)):
        ran = Recorder()
        talk = chat([says(call("do", "a", text="x" * 1_000_000))], [ran.tool("do", profile)])
        talk.say()
        assert (len(talk.requests), len(ran.runs)) == (asked, 1 - asked)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("what", list(UNCARRIED))
def test_however_readily_a_heuristic_says_yes_none_of_them_is_approved(what: str, asynchronous: bool) -> None:
    """NaN, 1e999, an integer of 400 digits, nesting 10,000 deep, a 1 MB string, a lone surrogate → error or ask, in
    bounded time; never auto-approved, never a crash."""
    ran, asked = Recorder(), list[Any]()
    gate = ToolGate(heuristics=[lambda made, _: asked.append(made["id"]) or True])  # type: ignore[func-returns-value]
    made: Any = {"name": "do", "args": {"a": UNCARRIED[what]}, "id": "bad", "type": "tool_call"}
    script = [says(made), says(call("do", "good", a="x"))]
    talk = chat(script, [ran.tool("do", SEND)], gate=gate, asynchronous=asynchronous)
    started = process_time()
    talk.say()
    if what == "a text of 1 MB":
        assert (talk.request.tool_call_id, ran.runs, asked) == ("bad", [], [])
        talk.answer("reject")
        # A variant of what was rejected is a person's to release as well.
        assert (talk.request.tool_call_id, ran.runs, asked) == ("good", [], [])
    else:
        assert "arguments are not valid" in talk.result("bad")
        assert (ran.runs, asked) == ([("do", {"a": "x"})], ["good"])  # the positive control
    assert process_time() - started < 5


def with_configuration(x: int, config: RunnableConfig, callbacks: Any = None, **more: Any) -> str:
    return f"{x} {sorted(more)}"


@pytest.mark.parametrize("name", ["config", "callbacks", "run_manager", "self"])
def test_a_parameter_that_langchain_fills_in_is_not_the_models_to_supply(name: str) -> None:
    """Shown, it would not be what runs."""
    made = StructuredTool(
        name="do", description="Do.", func=with_configuration, args_schema={"type": "object", "properties": {"x": {}}}
    )
    for given, asked in ((name, 0), ("other", 1)):
        message: Any = {"name": "do", "args": {"x": 1, given: {"a": 1}}, "id": "a", "type": "tool_call"}
        talk = chat([says(message)], [with_profile(made, SEND)])
        talk.say()
        assert len(talk.requests) == asked
        if asked:
            talk.answer()
            assert talk.result("a") == "1 ['other']"
        else:
            assert f"{name}: not yours to supply" in talk.result("a")


@pytest.mark.parametrize("name", ["", "do ", "Do", "do\u200b", "do\n", "d\u043e", "../do", "do" * 50_000])
def test_a_name_that_is_not_the_tools_own_runs_nothing(name: str) -> None:
    for proposed in (name, "do"):
        ran = Recorder()
        talk = chat([says(call(proposed, "a"))], [ran.tool("do", READ)])
        talk.say()
        assert ran.count("do") == (proposed == "do")
        assert ("no such tool" in talk.result("a")) is (proposed == name)


class TestARepliesThatComesAgain:
    """As a cache gives it: with the ids that it had before."""

    def test_in_a_later_run_it_is_a_turn_of_its_own(self) -> None:
        again = AIMessage("", id="cached", tool_calls=[call("log", "k", x=1)])
        ran = Recorder()
        gate = ToolGate(surfaces=[ALLOWS_ROUTINE])
        talk = chat([again, AIMessage("one"), again, AIMessage("two")], [ran.tool("log", ROUTINE)], gate=gate)
        talk.say()
        talk.say()
        assert ran.count("log") == 2
        kinds = [type(message) for message in talk.messages]
        assert kinds == [HumanMessage, AIMessage, ToolMessage, AIMessage] * 2

    def test_another_call_under_the_same_ids_is_asked_about_and_is_what_runs(self) -> None:
        one = AIMessage("", id="cached", tool_calls=[call("send", "k", x=1)])
        two = AIMessage("", id="cached", tool_calls=[call("send", "k", x=2)])
        ran = Recorder()
        talk = chat([one, two], [ran.tool("send", SEND)])
        talk.say()
        talk.answer()
        assert talk.request.arguments == {"x": 2}
        talk.answer()
        assert [arguments["x"] for _, arguments in ran.runs] == [1, 2]

    def test_in_a_subagent_that_is_called_again_it_is_a_turn_of_its_own(self) -> None:
        def reply(messages: list[BaseMessage]) -> AIMessage:
            if isinstance(messages[-1], ToolMessage):
                return AIMessage("fine")
            return AIMessage("", id="cached", tool_calls=[call("log", "k", x=1)])

        gate, ran = ToolGate(surfaces=[ALLOWS_ROUTINE]), Recorder()
        inner = create_agent(
            ScriptedModel(script=[reply] * 4), [ran.tool("log", ROUTINE)], middleware=[ToolGateMiddleware(gate)]
        )

        @tool
        def helper(task: str) -> str:
            """Help."""
            return str(inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

        script = [says(call("helper", "1", task="t")), says(call("helper", "2", task="t"))]
        talk = chat(script, [with_profile(helper, READ)], gate=gate)
        talk.say()
        assert ran.count("log") == 2


@pytest.mark.parametrize("tools", [[], ["read"]], ids=["with no tools", "with tools"])
def test_a_model_that_brings_its_own_tools_is_refused_before_it_speaks(tools: list[str]) -> None:
    """Nobody could filter them, or see what the provider runs."""
    for brings in (True, False):
        model = ScriptedModel(script=[AIMessage("hello")])
        bound: Any = model.bind(tools=[{"type": "web_search"}]) if brings else model
        made = [Recorder().tool(name, READ) for name in tools]
        agent = create_agent(bound, made, middleware=[ToolGateMiddleware()], checkpointer=InMemorySaver())
        talk = Chat(agent, model, ToolGate())
        if brings:
            with pytest.raises(ConfigurationError, match="web_search"):
                talk.say()
        else:
            talk.say()
        assert len(model.seen) == (not brings)
