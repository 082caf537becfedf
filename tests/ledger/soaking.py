"""A soak: workers in processes of their own drive many threads at once, and afterwards the record must be true.

Every worker says things, answers, waits, withdraws, revokes, stops releases, and works under the operator's gate or
under a tighter one; which it does when is drawn from its seed. What ran is noted by the tools themselves, outside of
every ledger and checkpoint.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, tool

from toolgate_langchain import Caller, SqlLedger, Surface, Tier, ToolCatalog, ToolGate, Verdict, tool_profile
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.driving import pending_requests
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer

__all__ = ["ONCE", "OPERATIONS", "checkpoints", "finish_share", "soak_share"]

ONCE = frozenset({"note", "send"})
"""The tools whose calls may not be repeated."""

OPERATIONS = 5
"""Things that are done to each thread, on average, before all are brought to their end."""


class Words(BaseChatModel):
    """Says what the thread and the length of the conversation say, so that every worker hears the same."""

    @property
    def _llm_type(self) -> str:
        return "words"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """The same; it knows its tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        said = [place for place, one in enumerate(messages) if isinstance(one, AIMessage)]
        words = max(place for place, one in enumerate(messages) if isinstance(one, HumanMessage))
        message = AIMessage("Done.")
        if sum(place > words for place in said) < 2:
            # Each attempt to say something is another one: a turn that was thrown away is never said twice.
            draw, attempt = Random(f"{messages[0].text}:{len(said)}"), os.urandom(4).hex()
            message = AIMessage(
                "",
                tool_calls=[
                    _call(draw, f"{len(said)}-{number}-{attempt}") for number in range(draw.choice([1, 1, 2, 3]))
                ],
            )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _call(draw: Random, call_id: str) -> ToolCall:
    name = draw.choice(["read", "note", "note", "send", "send", "sync", "nothing"])
    return ToolCall(name=name, args={"n": draw.choice([1, 2, 3, 70])}, id=call_id, type="tool_call")


def _tools(deeds: Path) -> list[BaseTool]:
    """Tools that note each of their deeds at the end of a file, in one write."""
    file = os.open(deeds, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def did(name: str, call_id: str, config: RunnableConfig) -> str:
        os.write(file, f"{name} {config['configurable']['thread_id']} {call_id}\n".encode())
        return f"{name} is done"

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def read(n: int, call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Read something."""
        return did("read", call_id, config)

    @tool_profile(tier=Tier.ROUTINE)
    @tool
    def note(n: int, call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Note something."""
        return did("note", call_id, config)

    @tool_profile(tier=Tier.CONSEQUENTIAL)
    @tool
    def send(n: int, call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Send something."""
        return did("send", call_id, config)

    @tool_profile(tier=Tier.ROUTINE, idempotent=True)
    @tool
    def sync(n: int, call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Bring something up to date."""
        return did("sync", call_id, config)

    return [read, note, send, sync]


def _small(view: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY if view.arguments["n"] > 50 else Verdict.ALLOW, "how much at once")


def _one(called: Any, _: Any) -> bool:
    return bool(called["name"] == "note" and called["args"]["n"] == 1)


class _Worker:
    """One worker: a ledger, a checkpointer, and the agent behind the operator's gate and behind a tighter one."""

    def __init__(self, given: dict[str, Any], checkpointer: Any) -> None:
        self.ledger = SqlLedger(given["ledger"])
        tools = _tools(Path(given["deeds"]))
        surface = Surface("chat")
        self.gates = [
            ToolGate(ToolCatalog.from_tools(tools), [surface], heuristics=[_one], ledger=self.ledger),
            ToolGate(
                ToolCatalog.from_tools(tools, enabled=["read", "note", "send"]),
                [Surface("chat", consequential=Verdict.ASK, routine=Verdict.ASK)],
                argument_policies=[_small],
                ledger=self.ledger,
            ),
        ]
        caller = partial(_caller_of)
        self.agents: list[Any] = [
            create_agent(
                Words(), tools, middleware=gate.around(surface="chat", caller=caller), checkpointer=checkpointer
            )
            for gate in self.gates
        ]
        self.draw = Random(given["seed"])
        self.answered: list[tuple[str, str]] = []
        self.did: Counter[str] = Counter()
        self.stopped_for = 0

    def work(self, thread: str) -> None:
        """Do one thing to a thread, unless another worker is at it."""
        try:
            what = self._work(thread)
        except AlreadyAnsweredError:
            what = "left to another worker"
        self.did[what] += 1

    def _work(self, thread: str) -> str:
        which = self.draw.choice([0, 0, 0, 1])
        gate, agent = self.gates[which], self.agents[which]
        config = {"configurable": {"thread_id": thread}}
        state = agent.get_state(config)
        pending = pending_requests(state.interrupts)
        self._switch()
        what = self._what(bool(state.values), bool(pending), bool(state.next))
        match what:
            case "say":
                agent.invoke({"messages": [("user", thread)]}, config)
            case "go on":
                agent.invoke(None, config)
            case "answer":
                _, request = pending[0]
                what = gate.answer(agent, config, self._answer(request.request_id)).status
                self.answered.append((thread, request.request_id))
            case "withdraw":
                other, request_id = self.draw.choice(self.answered)
                there = {"configurable": {"thread_id": other}}
                what = "withdraw: " + gate.answer(agent, there, {"type": "reject", "request_id": request_id}).status
            case "revoke":
                rules = gate.rules(f"user-{self.draw.randrange(5)}")
                if rules:
                    gate.revoke(self.draw.choice(rules), by="operator")
            case _:
                time.sleep(self.draw.uniform(0, 0.01))
        return what

    def _switch(self) -> None:
        """Now and then all releases are stopped, for a few operations."""
        if self.stopped_for:
            self.stopped_for -= 1
            if not self.stopped_for:
                self.ledger.resume()
        elif self.draw.random() < 0.005:
            self.ledger.stop()
            self.stopped_for, self.did["stop"] = 3, self.did["stop"] + 1

    def _what(self, begun: bool, pending: bool, on_its_way: bool) -> str:
        draw = self.draw.random()
        if not begun:
            return "say"
        if draw < 0.04 and self.answered:
            return "withdraw"
        if draw < 0.06:
            return "revoke"
        if pending:
            return "pause" if draw < 0.16 else "say" if draw < 0.22 else "answer"
        return "go on" if on_its_way else "say" if draw < 0.5 else "pause"

    def _answer(self, request_id: str) -> dict[str, Any]:
        kind = self.draw.choice(["approve"] * 5 + ["reject", "edit", "respond", "remember", "for good", "unusable"])
        answer: dict[str, Any] = {"type": "approve", "request_id": request_id, "by": f"person-{self.draw.randrange(3)}"}
        match kind:
            case "reject":
                return {**answer, "type": "reject", "message": "no"}
            case "edit":
                return {**answer, "type": "edit", "edited_action": {"name": "send", "args": {"n": 2}}}
            case "respond":
                return {**answer, "type": "respond", "message": "it is done already"}
            case "remember":
                return {**answer, "remember": "arguments"}
            case "for good":
                return {**answer, "remember": {"what": "arguments", "scope": "user"}}
            case "unusable":
                return {**answer, "type": "perhaps"}
            case _:
                return answer

    def finish(self, thread: str) -> list[str]:
        """Bring a thread to its end, and say what dangles."""
        agent, config = self.agents[0], {"configurable": {"thread_id": thread}}
        for _ in range(40):
            state = agent.get_state(config)
            if pending := pending_requests(state.interrupts):
                kind = self.draw.choice(["approve", "reject"])
                self.gates[0].answer(agent, config, {"type": kind, "request_id": pending[0][1].request_id})
            elif state.next or not state.values:
                agent.invoke(None if state.values else {"messages": [("user", thread)]}, config)
            else:
                return _dangling(thread, state.values["messages"])
        return [f"{thread} comes to no end"]


def _caller_of(runtime: Any) -> Caller:
    """For whom a thread runs: one of five users."""
    return Caller(f"user-{int(runtime.execution_info.thread_id.removeprefix('thread-')) % 5}")


def _dangling(thread: str, messages: list[BaseMessage]) -> list[str]:
    """Calls that have not exactly one result right behind their message."""
    wrong = []
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            wanted = [str(call["id"]) for call in message.tool_calls]
            behind = messages[place + 1 : place + 1 + len(wanted)]
            got = [one.tool_call_id for one in behind if isinstance(one, ToolMessage)]
            if sorted(got) != sorted(wanted):
                wrong.append(f"{thread}: {wanted} has {got}")
    return wrong


@contextmanager
def checkpoints(where: str) -> Iterator[Any]:
    """The checkpointer of a database: a URL of PostgreSQL, or the path of a file of SQLite.

    Args:
        where: The database.
    """
    if where.startswith("postgresql:"):
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(where) as there:
            yield there
        return
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    with closing(sqlite3.connect(where, timeout=60, check_same_thread=False)) as connection:
        # The machine's power is not what is tried.
        connection.execute("PRAGMA synchronous = OFF")
        yield SqliteSaver(connection)


def soak_share(given: dict[str, Any]) -> dict[str, Any]:
    """One worker's work.

    Args:
        given: `ledger`, `checkpoints` and `deeds`: where they are; `seed`; `threads`: how many there are; `operations`.

    Returns:
        `did`: what it did, and how often.
    """
    with checkpoints(given["checkpoints"]) as checkpointer:
        worker = _Worker(given, checkpointer)
        for _ in range(given["operations"]):
            worker.work(f"thread-{worker.draw.randrange(given['threads'])}")
        worker.ledger.resume()
        worker.ledger.close()
    return {"did": dict(worker.did)}


def finish_share(given: dict[str, Any]) -> dict[str, Any]:
    """Bring one worker's share of the threads to their end.

    Args:
        given: As for `soak_share`, with `share`: the numbers of its threads.

    Returns:
        `dangling`: what is wrong, in words.
    """
    with checkpoints(given["checkpoints"]) as checkpointer:
        worker = _Worker(given, checkpointer)
        dangling = [wrong for number in given["share"] for wrong in worker.finish(f"thread-{number}")]
        worker.ledger.close()
    return {"dangling": dangling}
