"""What an operator says of one call, shown beside it and never in its place."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from toolgate_langchain.approvals.shown import show_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["Describe", "described"]

logger = logging.getLogger("toolgate_langchain")

Describe: TypeAlias = "Callable[[ToolCall, HeuristicContext], str | None]"
"""Gets the call with its effective arguments; `None` where there is nothing to say of it."""


def described(describe: Describe, call: ToolCall, context: HeuristicContext) -> str:
    """The note for a request; empty where there is nothing to say.

    A description may repeat what the model wrote, so it is shown as carefully as the arguments are,
    and none of its lines can pass for one of the request's own.

    Args:
        describe: The operator's function. What it raises is logged, and the person is told.
        call: The call.
        context: What it may look at besides.
    """
    try:
        text = describe(call, context)
        if text is not None and not isinstance(text, str):
            raise TypeError(f"it returned {type(text).__name__} and not a text")
    except Exception:
        logger.exception("the description of a call of %r could not be made", call["name"])
        return "its operator has a description for it, which could not be made"
    if not text or not text.strip():
        return ""
    shown = show_text(text).text.replace("\n", "\n    ")
    return f"its operator says: {shown}"
