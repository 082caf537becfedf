"""What binds a grant: the digest of one exact call of one turn, and of where it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.request import request_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.rules import ToolIdentity
    from toolgate_langchain.approvals.turn import Run

__all__ = ["call_digest"]


def call_digest(run: Run, tool: ToolIdentity, arguments: Mapping[str, Any], turn_id: str, call_id: str) -> str:
    """The digest that binds a grant to one exact call of one turn.

    Args:
        run: The run.
        tool: The tool, or what was saved of it with the turn.
        arguments: The effective arguments.
        turn_id: The turn; empty where nothing was saved of it.
        call_id: The call.
    """
    context = run.context
    return request_digest(
        tool=tool.name,
        origin=tool.origin,
        fingerprint=tool.fingerprint,
        arguments=arguments,
        surface=context.surface.name,
        thread=run.thread_id,
        agent_path=run.agent_path,
        run=run.id,
        turn=turn_id,
        caller=context.caller_id,
        call_id=call_id,
    )
