"""A call that is cut off in its middle: what it did is not known, a person is asked, and nothing is repeated."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command

from tests.agent.talking import CONSEQUENTIAL, READ, Talk, talk
from tests.graph.support import graph_chat
from tests.subagents.support import inner, makes
from tests.support import Chat, Clock, Recorder, call, chat, says, waited_for, with_profile
from toolgate_langchain import GatedAgent, InMemoryLedger, Surface, ToolGate, Verdict
from toolgate_langchain.approvals.memory_outcomes import LEASE
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.record import CallOutcome

HOSTS = ["after_model", "after_agent", "graph", "GatedAgent"]
IN_EVERY_HOST = pytest.mark.parametrize("host", HOSTS)
IN_BOTH_WAYS = pytest.mark.parametrize("asynchronous", [False, True], ids=["a worker that stops", "a run is cancelled"])


class Cut:
    """A tool whose first run is cut off in its middle, and the gate in front of it."""

    def __init__(self, host: str, *, asynchronous: bool = True, in_a_thread: bool = False, **options: Any) -> None:
        self.clock, self.ran = Clock(), Recorder()
        self.ledger = RecordingInMemoryLedger(clock=self.clock)
        self.gate = ToolGate(ledger=self.ledger, clock=self.clock, **options)
        self.begun, self.may_end, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.in_a_thread = in_a_thread
        script = [says(call("send", "s", n=1)), says(text="done")]
        tools: Sequence[BaseTool] = [self._tool()]
        made: Any
        if host == "GatedAgent":
            self._sessions: list[Any] = []
            made = talk(script, tools, self.ran, asynchronous=asynchronous, gate=self.gate, keep=self._sessions.append)
        elif host == "graph":
            made = graph_chat(script, tools, gate=self.gate, asynchronous=asynchronous)
        else:
            middleware = self.gate.around() if host == "after_agent" else None
            made = chat(script, tools, gate=self.gate, middleware=middleware, asynchronous=asynchronous)
        self.talk: Chat | Talk = made

    def put_inside(self, *, gated: bool) -> None:
        """Have an agent make the call that runs inside of a tool of this one."""
        send, given = self._tool(), {"messages": [("user", "go")]}
        agent: Any
        if gated:
            agent = GatedAgent(makes(call("send", "s", n=1)), [send], self.gate, name="sender")
        else:
            agent = inner(self.gate, makes(call("send", "s", n=1)), [send])

        def helper() -> str:
            return str(agent.invoke(given)["messages"][-1].text)

        async def ahelper() -> str:
            return str((await agent.ainvoke(given))["messages"][-1].text)

        tool = with_profile(StructuredTool.from_function(helper, ahelper, "helper", "Let an agent do it."), READ)
        script = [says(call("helper", "h")), says(text="done")]
        if isinstance(self.talk, Talk):
            self.talk = talk(
                script,
                [tool],
                self.ran,
                asynchronous=self.talk.asynchronous,
                gate=self.gate,
                keep=self._sessions.append,
            )
        else:
            self.talk = chat(script, [tool], gate=self.gate, asynchronous=self.talk.asynchronous)

    @property
    def pending(self) -> bool:
        """Whether somebody is asked."""
        return not self.talk.done if isinstance(self.talk, Talk) else bool(self.talk.requests)

    def _tool(self) -> BaseTool:
        def send(n: int) -> str:
            self.ran.runs.append(("send", {"n": n}))
            if len(self.ran.runs) > 1:
                return "ran send"
            self.begun.set()
            if not self.in_a_thread:
                raise KeyboardInterrupt
            self.may_end.wait(30)
            self.ended.set()
            return "ran send"

        async def asend(n: int) -> str:
            self.ran.runs.append(("send", {"n": n}))
            if len(self.ran.runs) > 1:
                return "ran send"
            self.begun.set()
            await asyncio.Event().wait()
            return "never"

        tool = StructuredTool.from_function(send, None if self.in_a_thread else asend, "send", "Send it.")
        return with_profile(tool, CONSEQUENTIAL)

    def cut_off(self) -> None:
        """Approve the call, and cut it off when it has begun."""
        self.talk.say()
        answer = {"type": "approve", "request_id": self.talk.request.request_id}
        if self.talk.asynchronous:
            waited_for(self.cancelled(self.resumed(answer)))
        else:
            with pytest.raises(KeyboardInterrupt):
                self.talk.resume(answer)

    async def cancelled(self, run: Awaitable[Any]) -> None:
        """Cancel a run when its tool has begun."""
        running = asyncio.ensure_future(run)
        await asyncio.to_thread(self.begun.wait, 30)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert running.cancelled()

    async def said(self) -> Any:
        """Say something, which the model answers with the call."""
        agent: Any = self.talk.agent
        return await agent.ainvoke({"messages": [("user", "go")]}, self.talk.config)

    async def resumed(self, answer: Any) -> Any:
        """Resume the run with an answer."""
        talk = self.talk
        if isinstance(talk, Talk):
            return await talk.agent.ainvoke({"session": talk.session, "answer": answer}, talk.config)
        return await talk.agent.ainvoke(Command(resume=answer), talk.config)

    async def gone_on(self) -> Any:
        """Go on with the run where it was left, without a new answer."""
        talk = self.talk
        if isinstance(talk, Talk):
            talk.output = await talk.agent.ainvoke({"session": self._sessions[-1]}, talk.config)
            return talk.output
        return await talk.agent.ainvoke(None, talk.config)

    def go_on(self) -> None:
        """As `gone_on`, in the way of the conversation."""
        if self.talk.asynchronous:
            waited_for(self.gone_on())
        elif isinstance(self.talk, Talk):
            self.talk.give({"session": self._sessions[-1]})
        else:
            self.talk.invoke(None)

    @property
    def request_kind(self) -> str:
        """Of which kind the request is that is pending."""
        return self.talk.request.kind

    @property
    def result(self) -> str:
        """The one tool message of the call."""
        return self.talk.results["s"] if isinstance(self.talk, Talk) else self.talk.result("s")


@IN_EVERY_HOST
@IN_BOTH_WAYS
@pytest.mark.parametrize(
    ("kind", "runs", "told"),
    [
        ("done", 1, "was carried out"),
        ("failed", 1, "failed"),
        ("try_again", 2, "ran send"),
        ("reject", 1, "outcome is unknown"),
    ],
)
def test_a_person_is_asked_what_became_of_it_and_each_answer_counts(
    host: str, kind: str, runs: int, told: str, *, asynchronous: bool
) -> None:
    """At once: nobody is at it any more, so that no lease is waited for."""
    cut = Cut(host, asynchronous=asynchronous)
    cut.cut_off()
    cut.go_on()
    assert (cut.talk.request.kind, cut.talk.request.tool_name, cut.ran.names) == ("outcome", "send", ["send"])
    cut.talk.answer(kind)
    assert len(cut.ran.runs) == runs and told in cut.result


@IN_EVERY_HOST
@IN_BOTH_WAYS
def test_the_record_says_that_it_was_cut_off_and_not_that_it_failed(host: str, *, asynchronous: bool) -> None:
    cut = Cut(host, asynchronous=asynchronous)
    cut.cut_off()
    (ended,) = [event.detail for event in cut.ledger.events() if event.kind == "ended"]
    by = "CancelledError" if asynchronous else "KeyboardInterrupt"
    assert (ended["status"], ended["error"]) == ("unknown", by)


@IN_EVERY_HOST
def test_what_goes_on_in_a_thread_is_waited_for_as_a_call_of_another_worker(host: str) -> None:
    """Cancelling a run does not reach a function that is not asynchronous: it is done to its end all the same."""
    cut = Cut(host, in_a_thread=True)
    cut.talk.say()
    answer = {"type": "approve", "request_id": cut.talk.request.request_id}

    async def cancelled_and_gone_on() -> None:
        await cut.cancelled(cut.resumed(answer))
        with pytest.raises(AlreadyAnsweredError, match="may still be at it"):
            await cut.gone_on()
        cut.may_end.set()

    waited_for(cancelled_and_gone_on())
    assert cut.ended.is_set() and cut.ran.names == ["send"]
    cut.clock.forward(seconds=LEASE.total_seconds())
    waited_for(cut.gone_on())
    assert (cut.request_kind, cut.ran.names) == ("outcome", ["send"])


@IN_EVERY_HOST
@IN_BOTH_WAYS
def test_where_nobody_is_there_the_model_is_told_that_its_outcome_is_unknown(host: str, *, asynchronous: bool) -> None:
    surfaces = [Surface("chat", attended=False, consequential=Verdict.ALLOW)]
    cut = Cut(host, asynchronous=asynchronous, surfaces=surfaces)
    if asynchronous:
        waited_for(cut.cancelled(cut.said()))
    else:
        with pytest.raises(KeyboardInterrupt):
            cut.talk.say()
    cut.go_on()
    assert "outcome is unknown" in cut.result and cut.ran.names == ["send"]


@pytest.mark.parametrize("kind", [InMemoryLedger, RecordingInMemoryLedger])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_call_that_may_be_repeated_is_repeated(kind: Callable[..., Any], *, asynchronous: bool) -> None:
    ran, begun = Recorder(), list[None]()

    def look() -> str:
        ran.runs.append(("look", {}))
        if not begun:
            begun.append(None)
            raise KeyboardInterrupt
        return "ran look"

    async def alook() -> str:
        return look()

    tool = with_profile(StructuredTool.from_function(look, alook, "look", "Look."), READ)
    told = list[CallOutcome]()
    gate = ToolGate(ledger=kind(), record="all", on_decision=told.append)
    spoken = chat([says(call("look", "l")), says(text="done")], [tool], gate=gate, asynchronous=asynchronous)
    with pytest.raises(KeyboardInterrupt):
        spoken.say()
    spoken.invoke(None)
    assert (spoken.requests, spoken.result("l"), len(ran.runs)) == ([], "ran look", 2)


@pytest.mark.parametrize("inside", ["an agent of LangGraph", "a GatedAgent", "a GatedAgent in a GatedAgent"])
@IN_BOTH_WAYS
def test_of_a_call_of_an_agent_inside_a_person_is_asked_at_the_root(inside: str, *, asynchronous: bool) -> None:
    """An agent around it, which cannot be begun again unasked, is asked about before."""
    cut = Cut("GatedAgent" if "in a" in inside else "after_model", asynchronous=asynchronous)
    cut.put_inside(gated="GatedAgent" in inside)
    cut.cut_off()
    asked: list[str] = []
    cut.go_on()
    while cut.pending:
        asked.append(cut.talk.request.tool_name)
        assert cut.talk.request.kind == "outcome" and len(asked) < 5
        cut.talk.answer("done" if asked[-1] == "send" else "try_again")
    assert (asked[-1], cut.ran.names) == ("send", ["send"])
    assert "was carried out" in cut.talk.messages[-2].text
