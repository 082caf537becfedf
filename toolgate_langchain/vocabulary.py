"""The four ordered scales that the rest of the package speaks in.

Nothing here decides anything: a tier says what a tool is, a verdict what happens to a call, a data
class how sensitive a result is, and a trust zone where a model runs. Each scale is ordered from the
mildest member to the strictest, so `max()` of two members is always the stricter one.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

__all__ = ["DataClass", "Tier", "TrustZone", "Verdict"]

_Scale = TypeVar("_Scale", bound="_OrderedScale")


class _OrderedScale(Enum):
    """An enum whose members compare by the order in which they are written."""

    rank: int

    def __init__(self, _value: str) -> None:
        self.rank = len(type(self).__members__)

    def __lt__(self: _Scale, other: _Scale) -> bool:
        return self.rank < other.rank if type(self) is type(other) else NotImplemented

    def __le__(self: _Scale, other: _Scale) -> bool:
        return self.rank <= other.rank if type(self) is type(other) else NotImplemented

    def __gt__(self: _Scale, other: _Scale) -> bool:
        return self.rank > other.rank if type(self) is type(other) else NotImplemented

    def __ge__(self: _Scale, other: _Scale) -> bool:
        return self.rank >= other.rank if type(self) is type(other) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    # Members are singletons: a copy of a profile must not make a second, unequal one.
    def __copy__(self: _Scale) -> _Scale:
        return self

    def __deepcopy__(self: _Scale, _memo: dict[int, Any]) -> _Scale:
        return self


class Tier(_OrderedScale):
    """Whether a tool changes the world, and how consequential and reversible that change is.

    A tier describes the tool and is never a permission: what a tier gets is each surface's own
    decision. A tool without a tier is unclassified and counts as consequential.
    """

    READ_ONLY = "read_only"
    ROUTINE = "routine"
    CONSEQUENTIAL = "consequential"

    @property
    def changes_state(self) -> bool:
        """The older two-way answer: `False` for read-only, `True` for both change tiers."""
        return self is not Tier.READ_ONLY


class Verdict(_OrderedScale):
    """What happens to one tool call: it runs, waits for a person, or is refused."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class DataClass(_OrderedScale):
    """How sensitive a tool's results are, lowest first."""

    PUBLIC = "public"
    BUSINESS = "business"
    SOURCE_CODE = "source_code"
    INTERNAL_CONFIGURATION = "internal_configuration"
    DIAGNOSTICS = "diagnostics"
    SECRET = "secret"


class TrustZone(_OrderedScale):
    """Where a model runs, the most trusted first."""

    LOCAL = "local"
    PRIVATE_HOSTED = "private_hosted"
    EXTERNAL_SAME_JURISDICTION = "external_same_jurisdiction"
    EXTERNAL_ANYWHERE = "external_anywhere"

    @property
    def ceiling(self) -> DataClass:
        """The most sensitive class of data that a model in this zone may see."""
        return _CEILINGS[self]


_CEILINGS = {
    TrustZone.LOCAL: DataClass.SECRET,
    TrustZone.PRIVATE_HOSTED: DataClass.DIAGNOSTICS,
    TrustZone.EXTERNAL_SAME_JURISDICTION: DataClass.INTERNAL_CONFIGURATION,
    TrustZone.EXTERNAL_ANYWHERE: DataClass.BUSINESS,
}
