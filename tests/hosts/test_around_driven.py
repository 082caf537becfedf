"""`gate.around()` driven by an approver, from another process, and as a part of something larger."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.behaviours.processes import run_child
from tests.hosts.around_agents import GO, READ, SEND, around, tools_of
from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import ToolGate, ToolGateMiddleware
from toolgate_langchain.hosts.langgraph.driving import adrive, drive

CHILD = Path(__file__).parent / "children" / "around.py"


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


class TestDriving:
    def test_an_approver_is_asked_until_the_agent_is_done(self, ran: Recorder, asynchronous: bool) -> None:
        turns = [says(call("send", "a"), call("send", "b")), says(call("read")), says(call("write", "c"))]
        talk = around(ran, *turns, asynchronous=asynchronous)
        asked: list[str] = []

        def approver(request: Any) -> dict[str, str]:
            asked.append(request.tool_call_id)
            return {"type": "approve"}

        if asynchronous:
            result = asyncio.run(adrive(talk.agent, GO, talk.config, approver=approver))
        else:
            result = drive(talk.agent, GO, talk.config, approver=approver)
        assert (result.done, asked, ran.names) == (True, ["a", "b", "c"], ["send", "send", "read", "write"])

    def test_an_answer_through_the_gate_counts_once(self, ran: Recorder, asynchronous: bool) -> None:
        talk = around(ran, says(call("send", "a")), asynchronous=asynchronous)
        talk.say()
        answer = {"type": "approve", "request_id": talk.request.request_id}
        for _ in range(2):
            if asynchronous:

                async def give() -> Any:
                    return await talk.gate.aanswer(talk.agent, talk.config, answer)

                asyncio.run(give())
            else:
                talk.gate.answer(talk.agent, talk.config, answer)
        assert ran.names == ["send"]

    def test_fifty_turns_that_are_asked_about_need_four_steps_each(self, ran: Recorder, asynchronous: bool) -> None:
        """The loop is left and entered again for each; a recursion limit counts no more than that."""
        turns = [says(call("send", n=n)) for n in range(50)]
        talk = around(ran, *turns, asynchronous=asynchronous)
        config = {**talk.config, "recursion_limit": 5}

        def approver(_: Any) -> dict[str, str]:
            return {"type": "approve"}

        if asynchronous:
            assert asyncio.run(adrive(talk.agent, GO, config, approver=approver)).done
        else:
            assert drive(talk.agent, GO, config, approver=approver).done
        assert ran.count("send") == 50

    def test_a_pause_is_answered_in_another_process(self, tmp_path: Path) -> None:
        """Asked in one process and answered in the next, which asks about the other call, on one SQLite file."""
        database = str(tmp_path / "db")
        first = run_child(CHILD, {"database": database, "asynchronous": False, "say": True})
        assert (first["pending"], first["ran"]) == (["a"], [])
        second = run_child(CHILD, {"database": database, "asynchronous": True, "say": False})
        assert (second["answered"], sorted(second["ran"]), second["last"]) == (2, ["read", "send", "send"], "done")

    @pytest.mark.parametrize("leaves", [True, False], ids=["to the loop", "to the end"])
    def test_a_pause_of_one_form_is_not_pending_in_the_other_and_is_closed_by_the_next_words(
        self, ran: Recorder, asynchronous: bool, leaves: bool
    ) -> None:
        """As where an agent is built in another form while a person is asked: nothing runs, and nothing dangles."""
        gate, saver = ToolGate(), InMemorySaver()
        forms: list[list[Any]] = [gate.around(), [ToolGateMiddleware(gate)]]
        before, after = forms if leaves else forms[::-1]
        shared: dict[str, Any] = {"gate": gate, "checkpointer": saver, "asynchronous": asynchronous}
        paused = chat([says(call("send", "a"))], tools_of(ran), middleware=before, **shared)
        paused.say()
        answer = {"type": "approve", "request_id": paused.request.request_id}
        rebuilt = chat([], tools_of(ran), middleware=after, **shared)
        assert gate.answer(rebuilt.agent, rebuilt.config, answer).status == "not_pending"
        rebuilt.say("next")
        assert ran.runs == []
        assert "Superseded" in rebuilt.result("a")
        assert [message.type for message in rebuilt.messages] == ["human", "ai", "tool", "human", "ai"]


class TestInsideOthers:
    def test_as_a_node_of_another_graph_it_asks_and_goes_on(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        model = ScriptedModel(script=[says(call("read")), says(call("send", "a"))])
        graph = StateGraph(MessagesState)
        graph.add_node("agent", create_agent(model, tools_of(ran), middleware=gate.around()))
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        talk = Chat(graph.compile(checkpointer=InMemorySaver()), model, gate, asynchronous=asynchronous)
        talk.say()
        assert (talk.request.tool_call_id, ran.names) == ("a", ["read"])
        talk.answer()
        assert (ran.names, talk.messages[-1].text) == (["read", "send"], "done")

    def test_agents_in_agents_ask_with_their_path_and_run_once(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()

        def helper(level: int) -> list[BaseTool]:
            """The tools of an agent, the deepest of which really sends."""
            if level == 0:
                return [ran.tool("send", SEND)]
            name = "send" if level == 1 else f"helper{level - 1}"
            inner = create_agent(
                ScriptedModel(script=[says(call(name, f"k{level}", task="it"))]),
                helper(level - 1),
                middleware=gate.around(),
            )

            @tool(f"helper{level}")
            def delegate(task: str) -> str:
                """Help."""
                return str(inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

            async def adelegate(task: str) -> str:
                return str((await inner.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].content)

            delegate.coroutine = adelegate
            return [with_profile(delegate, READ)]

        script = [says(call("helper2", "a", task="it"))]
        talk = around(ran, *script, tools=helper(2), gate=gate, asynchronous=asynchronous)
        talk.say()
        assert (talk.request.agent_path, ran.names) == (("helper2", "helper1"), [])
        talk.answer()
        assert (ran.names, talk.result("a")) == (["send"], "done")
