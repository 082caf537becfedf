"""What tests share: a model with an exact script, tools that count their runs, and short builders.

The only fake is the model's words. Agents, graphs, checkpointers and tools are real.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolgate_langchain import StandingRule, ToolGate, ToolGateMiddleware, ToolProfile, tool_profile
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.hosts.engine.run_state import RULES, read_rules
from toolgate_langchain.hosts.langgraph.driving import pending_requests
from toolgate_langchain.testing import ScriptedModel

T = TypeVar("T")
Turn = AIMessage | Callable[[list[BaseMessage]], AIMessage]


_ids = count(1)


def call(name: str, call_id: str | None = "", /, **args: Any) -> ToolCall:
    """A tool call; an id is made up where none is given (pass `None` for a call without one)."""
    return ToolCall(name=name, args=args, id=f"c{next(_ids)}" if call_id == "" else call_id, type="tool_call")


def says(*calls: ToolCall, text: str = "") -> AIMessage:
    """A turn of the model that makes calls."""
    return AIMessage(text, tool_calls=list(calls))


@dataclass
class Recorder:
    """Tools that note each of their runs."""

    runs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def tool(self, name: str, profile: ToolProfile | None = None, *, schema: Any = None) -> BaseTool:
        """A tool that takes anything (or what `schema` says), notes its run and returns `ran NAME`."""

        def run(**kwargs: Any) -> str:
            self.runs.append((name, kwargs))
            return f"ran {name}"

        async def arun(**kwargs: Any) -> str:
            return run(**kwargs)

        made = StructuredTool(
            name=name,
            description=f"The tool {name}.",
            func=run,
            coroutine=arun,
            args_schema=schema if schema is not None else {"type": "object", "properties": {}},
        )
        return made if profile is None else with_profile(made, profile)

    def count(self, name: str) -> int:
        """How often a tool ran."""
        return sum(1 for ran, _ in self.runs if ran == name)

    @property
    def names(self) -> list[str]:
        """The tools that ran, in order."""
        return [name for name, _ in self.runs]


def with_profile(tool: BaseTool, profile: ToolProfile) -> BaseTool:
    """A copy of a tool that carries a profile."""
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), "toolgate": profile}})


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        """Move it, as `timedelta` takes it."""
        self.now += timedelta(**by)


def waited_for(awaitable: Awaitable[T]) -> T:
    """Run something asynchronous to its end, in a loop of its own.

    `asyncio.run` has the main task written out with its result when it puts the handler of Ctrl-C back, and a
    conversation's whole state takes a while to write out; so the task has none.
    """
    results: list[T] = []

    async def noting() -> None:
        results.append(await awaitable)

    asyncio.run(noting())
    return results[0]


@dataclass
class Chat:
    """An agent on one thread, driven answer by answer."""

    agent: Any
    model: ScriptedModel
    gate: ToolGate
    thread: str = "thread"
    asynchronous: bool = False
    """Whether the agent is driven by `ainvoke`."""

    @property
    def config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.thread}}

    def say(self, text: str = "go") -> dict[str, Any]:
        """Send a message of the user."""
        return self.invoke({"messages": [HumanMessage(text)]})

    def taught(self, remember: Any = "arguments", kind: str = "approve") -> Chat:
        """Let the first turn be asked about, and answer it with "don't ask again"."""
        self.say()
        self.answer(kind, remember=remember)
        assert self.requests == []
        return self

    def resume(self, value: Any) -> dict[str, Any]:
        """Resume with a raw value, as a screen would."""
        return self.invoke(Command(resume=value))

    def invoke(self, value: Any) -> dict[str, Any]:
        """Give the agent an input, synchronously or not."""
        result: dict[str, Any]
        if self.asynchronous:
            result = waited_for(self.agent.ainvoke(value, self.config))
        else:
            result = self.agent.invoke(value, self.config)
        return result

    def answer(self, kind: str = "approve", **more: Any) -> dict[str, Any]:
        """Answer the pending request in the right shape."""
        return self.resume({"type": kind, "request_id": self.request.request_id, **more})

    @property
    def requests(self) -> list[ApprovalRequest]:
        """The requests that are pending."""
        return [request for _, request in pending_requests(self.agent.get_state(self.config).interrupts)]

    @property
    def request(self) -> ApprovalRequest:
        """The one request that is pending."""
        (request,) = self.requests
        return request

    @property
    def before_tools(self) -> str:
        """The node whose next step is the tools."""
        asking = "ToolGateMiddleware.after_model"
        return asking if asking in self.agent.nodes else "model"

    @property
    def way_out(self) -> dict[str, Any]:
        """What the model's step writes besides its message where the turn needs a person."""
        return {} if self.before_tools != "model" else {"jump_to": "end"}

    @property
    def messages(self) -> list[BaseMessage]:
        """The history of the thread."""
        messages: list[BaseMessage] = self.agent.get_state(self.config).values["messages"]
        return messages

    @property
    def results(self) -> list[ToolMessage]:
        """All tool messages of the history."""
        return [message for message in self.messages if isinstance(message, ToolMessage)]

    @property
    def rules(self) -> list[StandingRule]:
        """The standing rules in the thread's state."""
        return list(read_rules(self.agent.get_state(self.config).values.get(RULES)))

    def result(self, call_id: str) -> str:
        """The text of the one tool message of a call."""
        (message,) = [message for message in self.results if message.tool_call_id == call_id]
        return str(message.content)


def alone(gate: ToolGate, *, when_needed: bool, **options: Any) -> list[Any]:
    """The gate as an agent's only middleware: `ToolGateMiddleware`, or the form that `gate.around()` gives.

    `TOOLGATE_FORM=every-turn` or `=when-needed` makes every agent of the suite have that form.
    """
    named = os.environ.get("TOOLGATE_FORM")
    if when_needed if named is None else named == "when-needed":
        return list(gate.around(**options))
    return [ToolGateMiddleware(gate, **options)]


def chat(
    script: Iterable[Turn],
    tools: Sequence[BaseTool],
    *,
    gate: ToolGate | None = None,
    middleware: Sequence[Any] | None = None,
    checkpointer: Any = None,
    thread: str = "thread",
    agent: Mapping[str, Any] | None = None,
    asynchronous: bool = False,
    **options: Any,
) -> Chat:
    """A real agent behind the gate, with a scripted model.

    `options` go to `ToolGateMiddleware`, `agent` to `create_agent`. Asynchronous agents have the form
    of the gate that leaves the loop only for a turn that needs a person, the others the one that
    stands in it, so that each line of the tables holds for both.
    """
    model = ScriptedModel(script=list(script))
    gate = gate or ToolGate()
    made = create_agent(
        model,
        list(tools),
        middleware=list(middleware) if middleware is not None else alone(gate, when_needed=asynchronous, **options),
        checkpointer=checkpointer or InMemorySaver(),
        **(agent or {}),
    )
    return Chat(made, model, gate, thread, asynchronous)


__all__ = ["Chat", "Clock", "Recorder", "ScriptedModel", "call", "chat", "says", "tool_profile", "with_profile"]
