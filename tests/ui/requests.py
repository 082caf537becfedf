"""Requests as a gate makes them, for tests that need no agent."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from toolgate_langchain import ApprovalRequest
from toolgate_langchain.approvals.request import MemoryOffer

EXACTLY = MemoryOffer("arguments", "thread", 'Always allow send with exactly {"to":"ann"} in this conversation')
EXACTLY_THIS_RUN = MemoryOffer("arguments", "run", 'Allow send with exactly {"to":"ann"} until this run ends')
THE_TOOL = MemoryOffer("tool", "thread", "Always allow send with any arguments in this conversation")


def request(**changes: Any) -> ApprovalRequest:
    """A request about `send` to ann."""
    fields: dict[str, Any] = {
        "request_id": "r1",
        "digest": "d",
        "tool_call_id": "c1",
        "tool_name": "send",
        "origin": "local",
        "arguments": {"to": "ann"},
        "tier": "routine",
        "surface": "cli",
        "caller": None,
        "reason": "its tier is routine",
        "position": 1,
        "of": 1,
    }
    return ApprovalRequest(**{**fields, **changes})


def paper(columns: int = 100) -> tuple[Console, io.StringIO]:
    """A console whose output is kept, and no terminal."""
    kept = io.StringIO()
    return Console(file=kept, width=columns), kept
