"""The tools of the suite: their names and tiers, what they take, and what is noted of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["NOTE", "READ", "REMOVE", "TIERS", "Arguments", "OpenArguments", "Ran", "Task", "made_tool"]

READ: Final = "redteam_read"
"""A read-only tool."""
NOTE: Final = "redteam_note"
"""A routine tool."""
REMOVE: Final = "redteam_remove"
"""A consequential tool."""

TIERS: Final = {READ: Tier.READ_ONLY, NOTE: Tier.ROUTINE, REMOVE: Tier.CONSEQUENTIAL}


class Arguments(BaseModel):
    """What nearly every tool of the suite takes: nothing that validation could change."""

    path: str = ""
    note: str = ""


class OpenArguments(BaseModel):
    """For what only an open object can carry."""

    path: str = ""
    more: Any = Field(default=None)


class Task(BaseModel):
    """What an agent that is a tool takes."""

    task: str


def made_tool(
    name: str,
    run: Callable[..., Any],
    arun: Callable[..., Awaitable[Any]],
    *,
    schema: type[BaseModel],
    description: str,
    metadata: Mapping[str, Any] | None = None,
) -> StructuredTool:
    """A new tool. What LangChain offers of it to a model is worked out once for all tools that read alike.

    Args:
        name: Its name.
        run: What it does.
        arun: The same, asynchronously.
        schema: What it takes.
        description: What the model reads.
        metadata: What it carries.
    """
    update = {"func": run, "coroutine": arun, "metadata": dict(metadata or {})}
    return _read_alike(name, schema, description).model_copy(update=update)


@lru_cache(maxsize=128)
def _read_alike(name: str, schema: type[BaseModel], description: str) -> StructuredTool:
    """A tool that does nothing, to be copied: the schema that it offers takes longer to build than to call it.

    LangChain's own `model_copy` keeps that schema as long as name, description and arguments are the same.
    """
    made = StructuredTool(name=name, description=description, func=_nothing, args_schema=schema)
    _ = made.tool_call_schema  # builds it
    return made


def _nothing(**_: Any) -> None:
    """What a tool does that is only there to be copied."""


@dataclass(frozen=True)
class Ran:
    """One run of a tool."""

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.name} ran with {str(dict(self.arguments))[:200]}"
