"""An agent with the tools of real MCP servers behind a gate; they run asynchronously only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.tools import BaseTool

from tests.support import Chat, Turn, chat
from toolgate_langchain import Surface, ToolCatalog, ToolGate

__all__ = ["SURFACES", "talk"]

SURFACES = [Surface("chat"), Surface("cron", attended=False)]


def talk(
    script: Iterable[Turn],
    catalog: ToolCatalog,
    *,
    tools: Sequence[BaseTool] | None = None,
    surface: str = "chat",
    gate: ToolGate | None = None,
    **options: Any,
) -> Chat:
    """An agent with the catalog's tools, or with those given."""
    gate = gate or ToolGate(catalog, SURFACES)
    given = catalog.tools() if tools is None else tools
    return chat(script, given, gate=gate, surface=surface, asynchronous=True, **options)
