"""What an MCP server asks in the middle of a call (an elicitation), where langchain-mcp-adapters answers it.

That library answers in a callback inside the session with the server. Two things go wrong there. A
callback that waits for a person waits for ever where nobody is there. And an `interrupt()` in it never
reaches the graph: the session takes it for a malformed request, and nobody learns of the question.

The tools of `langchain.mcp` need nothing from here. They raise their interrupts where the tool runs,
and the gate lets those through where a person is there and ends the call where nobody is.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from toolgate_langchain.errors import needs_extra
from toolgate_langchain.hosts.engine.parent_run import current_run

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ElicitResult

    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["ElicitationPolicy", "Respond"]

logger = logging.getLogger("toolgate_langchain")

Respond: TypeAlias = Callable[[Any, Any, Any], Awaitable[Any]]
"""An `on_elicitation` of langchain-mcp-adapters: `(mcp_context, params, context) -> ElicitResult`."""


@dataclass(slots=True)
class _Call:
    """The call that a session works for."""

    nobody: str
    """Why no person can be asked; empty if one can."""
    declined: str = ""
    """Why a question of this call was declined."""


_current: ContextVar[_Call | None] = ContextVar("toolgate_elicitation", default=None)


class ElicitationPolicy:
    """Answers a server's questions where a person is there, and declines them where nobody is.

    Both halves are given to the client; the interceptor comes last, next to the server::

        policy = ElicitationPolicy(gate, respond=ask_in_my_window)
        client = MultiServerMCPClient(
            connections,
            callbacks=Callbacks(on_elicitation=policy.on_elicitation),
            tool_interceptors=[..., policy.intercept],
        )

    A call of which a question was declined ends with an error result that says so, whatever the server
    made of it. Declined is also what is asked outside of a call that the gate lets run, and what
    `respond` fails to answer.

    Args:
        gate: The gate that the agent is behind; its surfaces say whether a person is there.
        respond: Asks the person, on attended surfaces only. Must not call `interrupt()`. Without it
            every question is declined.
    """

    def __init__(self, gate: ToolGate, respond: Respond | None = None) -> None:
        with needs_extra("ElicitationPolicy", "mcp"):
            import mcp.types  # noqa: F401
        self._gate, self._respond = gate, respond

    async def on_elicitation(self, mcp_context: Any, params: Any, context: Any) -> ElicitResult:
        """Answer one question; the `on_elicitation` of the client's callbacks."""
        from mcp.types import ElicitResult

        call = _current.get()
        why = "it does not belong to a call that the gate let run" if call is None else call.nobody
        if not why and self._respond is None:
            why = "there is no way set up to ask a person"
        if not why:
            assert self._respond is not None
            try:
                answer = await self._respond(mcp_context, params, context)
            except Exception as error:  # an interrupt, too: it cannot leave the session
                why = f"asking a person failed with {type(error).__name__}"
            else:
                if isinstance(answer, ElicitResult):
                    return answer
                why = f"asking a person gave {type(answer).__name__}, not an ElicitResult"
        if call is not None:
            call.declined = why
        logger.warning("declined a question of MCP server %r: %s", getattr(context, "server_name", "?"), why)
        return ElicitResult(action="decline")

    async def intercept(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> CallToolResult | Any:
        """Tell the session which call it works for; the last of the client's interceptors."""
        from mcp.types import CallToolResult, TextContent

        call = _Call(nobody=self._nobody())
        token = _current.set(call)
        try:
            result = await handler(request)
        finally:
            _current.reset(token)
        if not call.declined:
            return result
        said = f"The server asked a question in the middle of this call. It was declined, because {call.declined}."
        content = [TextContent(type="text", text=f"{said} What the server made of that follows.")]
        return CallToolResult(isError=True, content=[*content, *getattr(result, "content", ())])

    def _nobody(self) -> str:
        """Why no person can be asked in the run of this call; empty if one can."""
        around = current_run.get()
        if around is None or around.gate is not self._gate:
            return "it does not belong to a call that this gate let run"
        surface = around.run.context.surface
        return "" if surface.attended else f"nobody is there to answer it on surface {surface.name!r}"
