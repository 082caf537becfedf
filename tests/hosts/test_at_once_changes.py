"""What changes between the model and the tool keeps a call from the short way; a tool that took it stays in bounds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.hosts.looking import READ, BeforeTheTool, after, look, looking
from tests.support import Chat, Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import (
    Caller,
    RemoteServer,
    Surface,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
)
from toolgate_langchain.errors import ConfigurationError


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


SERVER = RemoteServer("srv", ("run",), {"look": False}, profiles={"look": READ})

Change = Callable[[ToolCatalog, BaseTool], Any]
CHANGES: dict[str, tuple[bool, Change]] = {
    "a switched tool": (False, lambda catalog, _: catalog.switch_tool("look", on=False)),
    "a switched group": (False, lambda catalog, _: catalog.switch_group("files", on=False)),
    "a raised tier": (
        True,
        lambda catalog, made: catalog.add_remote(SERVER, [_hinting(made, destructiveHint=True)]),
    ),
    "a marker": (
        True,
        lambda catalog, made: catalog.add_remote(
            replace(SERVER, profiles={"look": replace(READ, requires_approval=True)}), [made]
        ),
    ),
    "a declaration": (
        True,
        lambda catalog, made: catalog.add_remote(replace(SERVER, declarations={"look": True}), [made]),
    ),
    "administrators only": (
        True,
        lambda catalog, made: catalog.add_remote(
            replace(SERVER, profiles={"look": replace(READ, admin_only=True)}), [made]
        ),
    ),
    "another definition": (
        True,
        lambda catalog, made: catalog.add_remote(SERVER, [made.model_copy(update={"description": "More."})]),
    ),
    "a withdrawn tool": (True, lambda catalog, _: catalog.add_remote(SERVER, [])),
}
"""Whether the tool is a server's, and what is changed while the agent runs."""


def _hinting(made: BaseTool, **hints: bool) -> BaseTool:
    return made.model_copy(update={"metadata": {**(made.metadata or {}), **hints}})


class TestTheCatalog:
    @pytest.mark.parametrize("name", CHANGES)
    def test_what_is_restricted_after_the_model_spoke_does_not_run(
        self, ran: Recorder, short: list[bool], asynchronous: bool, name: str
    ) -> None:
        """The call before the change takes the short way, the one after it none."""
        remote, change = CHANGES[name]
        catalog, made = ToolCatalog(), look(ran, None)
        if remote:
            catalog.add_remote(SERVER, [made])
        else:
            catalog.register(made, READ)
        seen: list[int] = []

        def changes(_: Any) -> None:
            seen.append(1)
            if len(seen) == 2:
                change(catalog, made)

        script = [says(call("look", "a", n=1)), says(call("look", "b", n=2))]
        gate = ToolGate(catalog)
        middleware = gate.around([BeforeTheTool(changes)])
        talk = chat(script, [made], gate=gate, middleware=middleware, asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([True, False], [("look", {"n": 1, "note": "-"})])
        assert "was not executed" in talk.result("b")
        assert talk.requests == []

    def test_a_tool_that_other_middleware_puts_under_the_name_does_not_run(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        other = look(ran, None)
        talk = after(ran, lambda asked: asked.override(tool=other), gate=ToolGate(), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])
        assert "was not executed" in talk.result("a")

    def test_a_tool_of_another_name_that_other_middleware_puts_there_does_not_run(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        other = look(ran).model_copy(update={"name": "wipe"})
        talk = after(ran, lambda asked: asked.override(tool=other), gate=ToolGate(), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])

    def test_arguments_that_other_middleware_changes_are_looked_at_as_they_run(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        def changed(asked: Any) -> Any:
            return asked.override(tool_call={**asked.tool_call, "args": {"n": "one"}})

        after(ran, changed, gate=ToolGate(), asynchronous=asynchronous).say()
        assert (short, ran.runs) == ([False], [])


class TestTheRun:
    @pytest.mark.parametrize(
        "saved", [{}, {"v": 1}, {"v": 2, "id": "x"}], ids=["nothing", "half of one", "a newer one"]
    )
    def test_a_state_that_holds_no_run_releases_nothing(
        self, ran: Recorder, short: list[bool], asynchronous: bool, saved: dict[str, Any]
    ) -> None:
        talk = looking(ran, asynchronous=asynchronous, agent={"interrupt_before": ["tools"]})
        talk.say()
        talk.agent.update_state(talk.config, {"toolgate_run": saved}, as_node=talk.before_tools)
        with pytest.raises(ConfigurationError, match="holds no run"):
            talk.invoke(None)
        assert (short, ran.runs) == ([], [])

    def test_a_turn_that_was_left_in_the_state_keeps_calls_from_it(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        talk = looking(ran, asynchronous=asynchronous, agent={"interrupt_before": ["tools"]})
        talk.say()
        turn = {"toolgate_turn": {"v": 1, "anything": True}}
        talk.agent.update_state(talk.config, turn, as_node=talk.before_tools)
        talk.invoke(None)
        assert (short, ran.count("look")) == ([False], 1)

    def test_each_caller_is_judged_by_its_own_rights(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        """What is known of the calls of an administrator's run says nothing of another's."""
        callers = iter([Caller("root", admin=True), Caller("ann"), Caller("root", admin=True)])
        made = look(ran, replace(READ, admin_only=True))
        script = [
            says(call("look", n=1)), says(), says(call("look", n=2)), says(), says(call("look", n=3)), says()
        ]  # fmt: skip
        talk = looking(ran, *script, made=made, caller=lambda _: next(callers), asynchronous=asynchronous)
        for _ in range(3):
            talk.say()
        assert short == [True, False, True]
        assert [args["n"] for _, args in ran.runs] == [1, 3]


class TestLeaving:
    def test_a_tool_that_pauses_where_nobody_is_there_gives_an_error_loudly(
        self, ran: Recorder, short: list[bool], asynchronous: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        gate = ToolGate(surfaces=[Surface("chat", attended=False)])
        made = look(ran, does=lambda n: interrupt({"which": n}))
        talk = looking(ran, made=made, gate=gate, asynchronous=asynchronous)
        with caplog.at_level(logging.WARNING, "toolgate_langchain"):
            talk.say()
        assert (short, talk.agent.get_state(talk.config).interrupts) == ([True], ())
        (result,) = talk.results
        assert (result.status, result.tool_call_id) == ("error", "a")
        assert "nobody is there" in str(result.content)
        assert "the tool wanted to pause" in caplog.text

    def test_a_tool_that_pauses_where_somebody_is_there_goes_on_with_the_answer(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        made = look(ran, does=lambda n: f"they said {interrupt({'which': n})}")
        talk = looking(ran, made=made, asynchronous=asynchronous)
        talk.say()
        assert talk.agent.get_state(talk.config).interrupts[0].value == {"which": 1}
        talk.resume("that one")
        assert (short, talk.result("a")) == ([True, True], "they said that one")

    @pytest.mark.parametrize("channel", ["toolgate_run", "toolgate_turn", "toolgate_rules"])
    @pytest.mark.parametrize("listed", [False, True], ids=["a command", "a list of commands"])
    def test_a_command_that_writes_the_gate_s_state_is_dropped(
        self, ran: Recorder, short: list[bool], asynchronous: bool, channel: str, listed: bool
    ) -> None:
        written: Command[Any] = Command(update={channel: {}, "messages": [ToolMessage("ok", tool_call_id="a")]})
        made = look(ran, does=lambda _: [written] if listed else written)
        talk = looking(ran, made=made, asynchronous=asynchronous)
        talk.say()
        assert short == [True]
        assert "write state that is not its own" in talk.result("a")
        assert talk.agent.get_state(talk.config).values["toolgate_run"]

    def test_a_command_that_writes_other_state_passes(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        written: Command[Any] = Command(update={"messages": [ToolMessage("ok", tool_call_id="a")]})
        talk = looking(ran, made=look(ran, does=lambda _: written), asynchronous=asynchronous)
        talk.say()
        assert (short, talk.result("a")) == ([True], "ok")

    @pytest.mark.parametrize("forges", [False, True], ids=["its own state", "the gate's state"])
    def test_a_command_to_the_graph_around_passes_unless_it_writes_the_gate_s_state(
        self, ran: Recorder, short: list[bool], asynchronous: bool, forges: bool
    ) -> None:
        update: dict[str, Any] = {"messages": [HumanMessage("handed over")]}
        if forges:
            update["toolgate_run"] = {}
        leaves: Command[Any] = Command(graph=Command.PARENT, goto="other", update=update)
        model, gate = ScriptedModel(script=[says(call("look", "a", n=1))]), ToolGate()
        inner = create_agent(
            model, [look(ran, does=lambda _: leaves)], middleware=[ToolGateMiddleware(gate)], name="inner"
        )
        graph = StateGraph(MessagesState)
        graph.add_node("inner", inner, destinations=("other",))
        graph.add_node("other", lambda _: {"messages": [HumanMessage("here")]})
        graph.add_edge(START, "inner")
        graph.add_edge("inner", END)
        graph.add_edge("other", END)
        talk = Chat(graph.compile(checkpointer=InMemorySaver()), model, gate, asynchronous=asynchronous)
        talk.say()
        texts = [str(message.content) for message in talk.messages]
        assert short == [True]
        assert ("handed over" in texts, "here" in texts) == (not forges, not forges)
        assert any("not its own" in text for text in texts) is forges
