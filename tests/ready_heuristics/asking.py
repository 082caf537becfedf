"""Asking one heuristic about one call, without an agent around it."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolCall

from tests.support import Recorder
from toolgate_langchain import Caller, Surface, ToolCatalog, ToolProfile
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext
from toolgate_langchain.policy.history import History

TOOL = Recorder().tool("act", ToolProfile())
ENTRY = ToolCatalog.from_tools([TOOL]).get("act")


def says_yes(heuristic: Heuristic, /, name: str = "act", *, words: tuple[str, ...] = (), **arguments: Any) -> bool:
    """Whether a heuristic says exactly `True` of a call."""
    assert ENTRY is not None
    context = HeuristicContext(ENTRY, Surface("chat"), Caller("ann"), history=History(words=words))
    answer = heuristic(ToolCall(name=name, args=arguments, id="c", type="tool_call"), context)
    assert isinstance(answer, bool)
    return answer
