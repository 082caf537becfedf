"""The tools of the conversation: of each kind one, all of which only say what they did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from toolgate_langchain import GatedAgent, RemoteServer, Tier, ToolProfile

__all__ = ["SERVER", "helper", "made_tools", "remote_tools"]


class _Read(BaseModel):
    path: str = "."


class _Note(BaseModel):
    text: str


class _Send(BaseModel):
    to: str
    body: str


class _Tidy(BaseModel):
    room: str


class _Erase(BaseModel):
    disk: str


class _Radio(BaseModel):
    station: str


class _Vault(BaseModel):
    box: str


class _Book(BaseModel):
    city: str
    note: str


_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class _Pay(BaseModel):
    amount: int


class _Fetch(BaseModel):
    url: str


class _Purge(BaseModel):
    table: str


class _Query(BaseModel):
    query: str


_TOOLS: Mapping[str, tuple[type[BaseModel], ToolProfile]] = {
    "read": (_Read, ToolProfile(tier=Tier.READ_ONLY)),
    "note": (_Note, ToolProfile(tier=Tier.ROUTINE)),
    "send": (_Send, ToolProfile(tier=Tier.CONSEQUENTIAL)),
    "tidy": (_Tidy, ToolProfile(tier=Tier.ROUTINE)),
    "erase": (_Erase, ToolProfile(tier=Tier.CONSEQUENTIAL, admin_only=True)),
    "radio": (_Radio, ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"media"}))),
    "vault": (_Vault, ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)),
    "book": (_Book, ToolProfile(tier=Tier.ROUTINE, input_schema=_CITY)),
    "pay": (_Pay, ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda arguments: arguments["amount"] > 100)),
    "fetch": (_Fetch, ToolProfile(tier=Tier.READ_ONLY)),
    "purge": (_Purge, ToolProfile(tier=Tier.CONSEQUENTIAL, preview=lambda arguments: f"empties {arguments['table']}")),
}


SERVER = RemoteServer("archive", ("https://archive.example",), {"declared": False})
"""Three tools are of this server; it was declared that one of them needs nobody."""

_HINTS: Mapping[str, Mapping[str, Any]] = {"hinted": {"readOnlyHint": True}, "declared": {}, "unknown": {}}


def _made(ran: list[str], name: str, schema: type[BaseModel], metadata: Mapping[str, Any]) -> BaseTool:
    def run(**arguments: Any) -> str:
        ran.append(f"{name} {arguments}")
        return f"{name} did {arguments}"

    async def arun(**arguments: Any) -> str:
        return run(**arguments)

    return StructuredTool(
        name=name,
        description=f"Does {name}.",
        func=run,
        coroutine=arun,
        args_schema=schema,
        metadata=dict(metadata),
    )


def made_tools(ran: list[str]) -> list[BaseTool]:
    """The tools of this process; each adds what it did to `ran`."""
    return [_made(ran, name, schema, {"toolgate": profile}) for name, (schema, profile) in _TOOLS.items()]


def remote_tools(ran: list[str]) -> list[BaseTool]:
    """The tools of the server, as a client makes them."""
    return [_made(ran, name, _Query, hints) for name, hints in _HINTS.items()]


def helper(agent: GatedAgent, ran: list[str]) -> BaseTool:
    """A tool in which an agent works. It may begin several times, as its agent pauses, and ends once."""

    def ended(task: str, said: Any) -> str:
        ran.append(f"helper {task}")
        return f"helper did {{{task}}}: {said['messages'][-1].text}"

    def run(task: str) -> str:
        return ended(task, agent.invoke({"messages": [HumanMessage(task)]}))

    async def arun(task: str) -> str:
        return ended(task, await agent.ainvoke({"messages": [HumanMessage(task)]}))

    made = StructuredTool.from_function(run, arun, "helper", "Lets another agent do it.")
    made.metadata = {"toolgate": ToolProfile(tier=Tier.READ_ONLY)}
    return made
