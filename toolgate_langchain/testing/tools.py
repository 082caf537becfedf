"""The tools of the suite: their names and tiers, what they take, and what is noted of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NOTE", "READ", "REMOVE", "TIERS", "Arguments", "OpenArguments", "Ran"]

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


@dataclass(frozen=True)
class Ran:
    """One run of a tool."""

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.name} ran with {str(dict(self.arguments))[:200]}"
