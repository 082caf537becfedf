""" "Don't ask again" belongs to one agent: to the inner tool under its path, never to the tool around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.subagents.support import DANGEROUS, READ, ROUTINE, as_tool, inner, makes
from tests.support import Recorder, call, chat, says
from toolgate_langchain import ToolGate


def test_always_is_recorded_for_the_inner_tool_and_not_for_the_outer_wrapper(ran: Recorder, asynchronous: bool) -> None:
    """ "Always" recorded for the outer wrapper instead of the inner tool: each question remembers its own call."""
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("save", "s", x=1)), [ran.tool("save", ROUTINE)]), profile=ROUTINE)
    talk = chat([says(call("helper", "one")), says(call("helper", "two"))], [helper], gate=gate,
                asynchronous=asynchronous)  # fmt: skip
    talk.say()
    talk.answer()
    assert talk.request.tool_name == "save"
    assert all("save" in offer.text for offer in talk.request.remember)
    talk.answer(remember="tool")
    assert talk.request.tool_name == "helper"
    talk.answer()
    assert talk.requests == []
    assert ran.count("save") == 2
    rules = gate.ledger.thread_rules("thread")
    assert [(rule.tool_name, rule.agent_path) for rule in rules] == [("save", ("helper",))]  # type: ignore[union-attr]


def test_always_for_the_outer_tool_releases_nothing_inside(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("save", "s", x=1)), [ran.tool("save", ROUTINE)]), profile=ROUTINE)
    talk = chat([says(call("helper", "one")), says(call("helper", "two"))], [helper], gate=gate,
                asynchronous=asynchronous)  # fmt: skip
    talk.say()
    talk.answer(remember="tool")
    assert talk.request.tool_name == "save"
    talk.answer()
    assert (talk.request.tool_name, ran.count("save")) == ("save", 1)


@pytest.mark.parametrize("scope", ["run", "thread"])
def test_the_always_of_one_agent_is_not_used_in_another(ran: Recorder, asynchronous: bool, scope: str) -> None:
    """The "always" of one agent used in another: neither in the agent around it nor in the one beside it."""
    gate, save = ToolGate(), ran.tool("save", ROUTINE)
    tools = [as_tool(inner(gate, makes(call("save", f"in {name}", x=1)), [save]), name) for name in ("one", "two")]
    turns = [says(call("one", "a")), says(call("two", "b")), says(call("save", "own", x=1)), says(call("one", "c"))]
    talk = chat(turns, [*tools, save], gate=gate, asynchronous=asynchronous)
    talk.say()
    asked: list[Any] = []
    while talk.requests:
        asked.append(talk.request.agent_path)
        if len(asked) == 1:
            talk.answer(remember={"what": "arguments", "scope": scope})
        else:
            talk.answer()
    assert asked == [("one",), ("two",), ()]
    assert ran.count("save") == 4


def test_the_always_of_an_agent_is_not_used_by_another_one_in_the_same_tool(ran: Recorder) -> None:
    """One tool that starts several agents, as deepagents' `task` does: their names tell them apart."""
    gate, save = ToolGate(), ran.tool("save", ROUTINE)
    agents = {name: inner(gate, makes(call("save", "s", x=1)), [save], name=name) for name in ("one", "two")}

    def dispatch(**given: Any) -> str:
        return str(agents[given["who"]].invoke({"messages": [("user", "go")]})["messages"][-1].content)

    tool = ran.tool("dispatch", READ).model_copy(update={"func": dispatch, "coroutine": None})
    turns = [says(call("dispatch", f"d{n}", who=who)) for n, who in enumerate(["one", "two", "one"])]
    talk = chat(turns, [tool], gate=gate)
    talk.say()
    asked: list[Any] = []
    while talk.requests:
        asked.append(talk.request.agent_path)
        talk.answer(remember="tool")
    assert asked == [("dispatch", "one"), ("dispatch", "two")]
    assert ran.count("save") == 3


def test_never_said_in_an_agent_is_not_lifted_by_starting_it_again(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]))
    turns = [says(call("helper", "a")), says(text="ok"), says(call("helper", "b"))]
    talk = chat(turns, [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    talk.answer("reject", remember="arguments")
    talk.say("once more")
    assert talk.requests == []
    assert ran.runs == []
    assert "not executed" in talk.result("b")


def test_always_said_where_a_surface_was_made_stricter_holds_there_alone(ran: Recorder) -> None:
    """A child with a surface of its own: what is remembered on the two together is not valid on one of them."""
    gate = ToolGate()
    tools = [
        as_tool(inner(gate, makes(call("save", "s", x=1)), [ran.tool("save", ROUTINE)], options=options), "helper")
        for options in ({"surface": "cli"}, {})
    ]
    first = chat([says(call("helper", "a"))], [tools[0]], gate=gate)
    first.say()
    assert first.request.surface == "chat > cli"
    first.answer(remember="tool")
    second = chat([says(call("helper", "b"))], [tools[1]], gate=gate)
    second.say()
    assert (second.request.surface, second.request.agent_path) == ("chat", ("helper",))
