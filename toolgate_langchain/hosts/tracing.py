"""What a tracer may record of a run: everything, with sensitive values masked.

LangChain and LangGraph trace models, tools and nodes by themselves, arguments included. What is sensitive is known
here, so this is given to the tracing client, which asks it for every payload of every run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from toolgate_langchain.policy.sensitive import MASK, masked, masked_text

__all__ = ["mask_traces"]

_NOTICE: Final = "A person replaced the arguments of this call"
_RAN_WITH: Final = " ran with "
"""How `with_notice` begins what the model reads after an edit, and what stands before the arguments in it."""

_AS_THEY_ARE: Final = (int, float, bool, type(None))


def mask_traces(payload: Any) -> Any:
    """The inputs or outputs of a traced run with sensitive values masked, wherever they are in it.

    For LangSmith: `Client(hide_inputs=mask_traces, hide_outputs=mask_traces)`. Messages, their calls, and JSON that
    stands in a text are looked into. Free text is kept: nobody can tell a secret in it. Of the gate's questions the
    rendered texts are left out, because they show everything. Names that only a profile declares are not known here.

    Args:
        payload: What a run was given, or gave.

    Returns:
        A copy of plain values. An object of another kind is written out field by field.
    """
    return masked(_plain(payload))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _looked_into(value)
    if isinstance(value, _AS_THEY_ARE):
        return value
    if isinstance(value, BaseMessage):
        return _plain(value.model_dump())
    if isinstance(value, BaseModel):
        return _plain(dict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items() if not _rendered(name, inner, value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name, None)) for one in fields(value)}
    # Whatever it is, its text might show what is in it.
    return f"<{type(value).__name__}>"


def _rendered(name: Any, inner: Any, around: Mapping[Any, Any]) -> bool:
    """Whether a field is a rendering of a call by the gate, beside the call itself."""
    if not isinstance(inner, str | list):
        return False
    question = "action_requests" in around or "tool_call_id" in around or "asked_because" in around
    return (question and name in ("description", "message", "remember", "notes")) or (
        name == "shown" and "request_id" in around
    )


def _looked_into(text: str) -> str:
    """A text as it is, or, where it is JSON, with what is sensitive in it masked."""
    if text.startswith(_NOTICE) and (place := text.find(_RAN_WITH)) > 0:
        return _after_an_edit(text, place + len(_RAN_WITH))
    return masked_text(text)


def _after_an_edit(text: str, place: int) -> str:
    """What the model reads after an edit, with what is sensitive masked in the arguments that it tells."""
    try:
        read, end = json.JSONDecoder().raw_decode(text, place)
    except (ValueError, RecursionError):
        return text[:place] + MASK
    return f"{text[:place]}{json.dumps(masked(read))}{_looked_into(text[end:])}"
