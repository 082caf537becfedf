"""Whether a call that was let through can run in this run at all, looked at before its grant is used up.

A tool that is only asynchronous fails in a synchronous run, and one whose server may ask somebody
something in the middle of the call could wait for ever where nobody is there.
"""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool, StructuredTool, Tool

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.elicitation import ElicitationPolicy
from toolgate_langchain.hosts.inside.holding import held_by

if TYPE_CHECKING:
    from toolgate_langchain.policy.surface import Surface

__all__ = ["check_awaited", "would_wait"]

_CALLBACKS: Final = ("langchain_mcp_adapters.callbacks", "Callbacks")
_SESSION: Final = ("mcp.client.session", "ClientSession")
"""What answers a server's questions, by module and name: for sessions that are opened for each call, and for one
that was opened before."""

_DECLINES: Final = "_default_elicitation_callback"
"""What a session has that was given no callback; it answers with an error at once."""

_LOOKED_AT: Final = 1_024
"""Tools of which it is remembered whether they may wait; beyond, they are looked at again."""

_answered_elsewhere: dict[int, tuple[BaseTool, bool]] = {}


def check_awaited(tool: BaseTool | None, handler: object) -> None:
    """Refuse a call of a tool that is only asynchronous, in a run that is not.

    Args:
        tool: The tool.
        handler: What would run it; a coroutine function in an asynchronous run.

    Raises:
        ConfigurationError: Saying what to do. Nothing was used up, so that the run can go on asynchronously.
    """
    if not isinstance(tool, StructuredTool | Tool) or tool.func is not None or inspect.iscoroutinefunction(handler):
        return
    base = StructuredTool if isinstance(tool, StructuredTool) else Tool
    if type(tool)._run is base._run and type(tool).invoke is base.invoke:
        raise ConfigurationError(
            f"the tool {tool.name!r} is only asynchronous, as those of MCP servers are, and this run is not: use "
            "ainvoke or astream, adrive or aanswer. What was approved stays approved: a run that stopped here goes on "
            "with ainvoke(None, config), a GatedAgent's with aresume(session)"
        )


def would_wait(tool: BaseTool | None, surface: Surface) -> str:
    """Why a call could wait for a person who is not there; empty where it could not.

    Args:
        tool: The tool.
        surface: Where the run is driven from.
    """
    if surface.attended or tool is None or not _asks_by_a_callback(tool):
        return ""
    return (
        f"the server of {tool.name!r} may ask something in the middle of a call, and nobody is there on surface "
        f"{surface.name!r} to answer the client's own callback; give it to the policy, which declines there: "
        "Callbacks(on_elicitation=ElicitationPolicy(gate, respond=...).on_elicitation)"
    )


def _asks_by_a_callback(tool: BaseTool) -> bool:
    """Whether the tool's client has a callback for its server's questions that is not the policy's."""
    known = _answered_elsewhere.get(id(tool))
    # The tool is kept, so that no other can come to have its id.
    if known is None or known[0] is not tool:
        if len(_answered_elsewhere) >= _LOOKED_AT:
            _answered_elsewhere.clear()
        known = _answered_elsewhere[id(tool)] = tool, any(map(_is_unsafe, held_by(tool)))
    return known[1]


def _is_unsafe(held: object) -> bool:
    kind = (type(held).__module__, type(held).__name__)
    if kind == _CALLBACKS:
        callback: Any = getattr(held, "on_elicitation", None)
    elif kind == _SESSION:
        callback = _given_to_a_session(getattr(held, "_elicitation_callback", None))
    else:
        return False
    return callback is not None and not (
        isinstance(callback, MethodType) and isinstance(callback.__self__, ElicitationPolicy)
    )


def _given_to_a_session(callback: Any) -> Any:
    """The client's callback below what the adapters make of it; `None` where there is none."""
    if getattr(callback, "__name__", "") == _DECLINES:
        return None
    if isinstance(callback, FunctionType):
        cells = zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=True)
        return next((cell.cell_contents for name, cell in cells if name == "on_elicitation"), callback)
    return callback
