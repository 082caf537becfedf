"""Agents with a read-only tool of plain arguments, whose calls take the short way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Chat, Recorder, call, chat, says, with_profile
from toolgate_langchain import (
    Tier,
    ToolGate,
    ToolProfile,
)

__all__ = ["READ", "SEND", "BeforeTheTool", "after", "look", "looking"]

READ = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"files"}))
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


def look(ran: Recorder, profile: ToolProfile | None = READ, *, does: Callable[[int], Any] | None = None) -> BaseTool:
    """A tool with plain arguments. `does` is what it does besides noting its run."""

    def run(n: int, note: str = "-") -> Any:
        ran.runs.append(("look", {"n": n, "note": note}))
        return f"saw {n} {note}" if does is None else does(n)

    async def arun(n: int, note: str = "-") -> Any:
        return run(n, note)

    made = StructuredTool.from_function(run, arun, name="look", description="Look.")
    return made if profile is None else with_profile(made, profile)


def looking(ran: Recorder, *script: Any, made: BaseTool | None = None, asynchronous: bool, **options: Any) -> Chat:
    tools = [made or look(ran), ran.tool("send", SEND)]
    return chat(script or [says(call("look", "a", n=1))], tools, asynchronous=asynchronous, **options)


class BeforeTheTool(AgentMiddleware[Any, Any, Any]):
    """Does something between the model's turn and the gate's last look at a call."""

    def __init__(self, does: Callable[[Any], Any]) -> None:
        super().__init__()
        self.does = does

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(self.does(request) or request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(self.does(request) or request)


def after(ran: Recorder, does: Callable[[Any], Any], *, gate: ToolGate, asynchronous: bool, **options: Any) -> Chat:
    """An agent in which something happens right before the gate's last look."""
    return looking(ran, gate=gate, middleware=gate.around([BeforeTheTool(does)]), asynchronous=asynchronous, **options)
