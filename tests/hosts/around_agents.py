"""Agents behind `gate.around()`, and what tests of it share."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool

from tests.support import Chat, Recorder, chat
from toolgate_langchain import Tier, ToolGate, ToolProfile

__all__ = ["GO", "READ", "ROUTINE", "SEND", "around", "tools_of"]

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)

GO = {"messages": [HumanMessage("go")]}


def tools_of(ran: Recorder) -> list[BaseTool]:
    """A tool of each tier."""
    return [ran.tool("read", READ), ran.tool("write", ROUTINE), ran.tool("send", SEND)]


def around(ran: Recorder, *script: Any, asynchronous: bool, gate: ToolGate | None = None, **options: Any) -> Chat:
    """An agent whose only middleware is `gate.around()`."""
    gate = gate or ToolGate()
    tools = options.pop("tools", None) or tools_of(ran)
    return chat(script, tools, gate=gate, middleware=gate.around(), asynchronous=asynchronous, **options)
