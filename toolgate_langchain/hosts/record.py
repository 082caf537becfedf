"""What became of each call, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from toolgate_langchain.vocabulary import Verdict

__all__ = ["CallOutcome", "Observer"]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One call at its end: what was decided, by which layer and why, and whether it ran."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    """What ran, or would have run."""
    verdict: Verdict
    """`ALLOW` for what ran, `DENY` for what did not."""
    code: str
    layer: str
    """The layer that decided; `person` where a person's answer did."""
    reason: str
    asked: bool
    """Whether a person was asked."""
    by: str | None = None


Observer: TypeAlias = Callable[[CallOutcome], None]
