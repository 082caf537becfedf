"""Heuristics: an ordered list of functions, any of which may auto-approve one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import BaseMessage, ToolCall

from toolgate_langchain.canonical import copy_plain
from toolgate_langchain.errors import ConfigurationError, HeuristicError

if TYPE_CHECKING:
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.caller import Caller
    from toolgate_langchain.policy.history import History
    from toolgate_langchain.policy.surface import Surface

__all__ = ["Heuristic", "HeuristicContext", "ask_heuristics", "heuristic_name"]


@dataclass(frozen=True, slots=True)
class HeuristicContext:
    """What a heuristic may look at besides the call."""

    entry: CatalogEntry
    surface: Surface
    caller: Caller | None
    messages: Sequence[BaseMessage] = ()
    """The conversation before the turn that is judged."""
    state: Mapping[str, Any] = field(default_factory=dict)
    history: History | None = None
    """What was read and said before the turn, labelled; only where a policy or a heuristic asks for it
    (`needs_history`)."""


Heuristic: TypeAlias = Callable[[ToolCall, HeuristicContext], bool | Awaitable[bool]]
"""Gets the call with its effective arguments; only exactly `True` approves."""


def heuristic_name(heuristic: Heuristic) -> str:
    """The name that decisions and records show for a heuristic."""
    name = getattr(heuristic, "__name__", None)
    return name if isinstance(name, str) else type(heuristic).__name__


def check_heuristics(heuristics: Sequence[Heuristic]) -> tuple[Heuristic, ...]:
    """Refuse what cannot be called.

    Raises:
        ConfigurationError: Naming the place in the list.
    """
    for position, heuristic in enumerate(heuristics):
        if not callable(heuristic):
            raise ConfigurationError(f"heuristics[{position}] is {heuristic!r}, which cannot be called")
    return tuple(heuristics)


def ask_heuristics(heuristics: Sequence[Heuristic], call: ToolCall, context: HeuristicContext) -> Steps[str | None]:
    """Ask in order; the first that says exactly `True` ends it.

    Returns:
        Its name, or `None` where none said yes.

    Raises:
        HeuristicError: If one raises, with its error as the cause.
    """
    for heuristic in heuristics:
        # A copy for each: what one does to its call must not be what the next one approves.
        own = ToolCall(name=call["name"], args=copy_plain(call["args"]), id=call["id"], type="tool_call")
        try:
            answer = yield partial(heuristic, own, context)
        except Exception as error:
            raise HeuristicError(
                f"heuristic {heuristic_name(heuristic)!r} raised {type(error).__name__} on {call['name']!r}: {error}"
            ) from error
        if answer is True:
            return heuristic_name(heuristic)
    return None
