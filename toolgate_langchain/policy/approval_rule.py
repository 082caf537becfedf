"""The single definition of "this needs a person". Everything else asks this rule."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, Strict
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.profile import STRICT
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.surface import Surface
    from toolgate_langchain.vocabulary import Tier

__all__ = ["AnswerType", "ApprovalNeed", "ApprovalRule"]

AnswerType = Literal["approve", "edit", "reject", "respond"]
"""What a person may say to a request."""


class ApprovalNeed:
    """Whether a call needs a person, and why."""

    __slots__ = ("needed", "reason", "typed_input")

    def __init__(self, *, needed: bool, reason: str, typed_input: bool = False) -> None:
        self.needed = needed
        self.reason = reason
        self.typed_input = typed_input

    def __repr__(self) -> str:
        return f"ApprovalNeed(needed={self.needed}, reason={self.reason!r})"


@dataclass(frozen=True, config=STRICT)
class ApprovalRule:
    """The single definition of "this needs a person".

    Args:
        undeclared_remote: What holds for a remote tool that its operator did not declare:
            `"unclassified"` judges it as an unclassified tool; `"exempt"` lets it run unasked.
        asks: Tools, by name, that need a person on every surface, as those with the explicit marker
            do, each with the answers that a person may give. Any other answer is asked again, but a
            rejection, which a person can always give.
    """

    undeclared_remote: Literal["unclassified", "exempt"] = "unclassified"
    asks: Mapping[str, Annotated[tuple[AnswerType, ...], Strict(False), Field(min_length=1)]] = field(
        default_factory=dict
    )

    def need(
        self,
        entry: CatalogEntry | None,
        surface: Surface,
        arguments: Mapping[str, Any] | None = None,
        predicate: bool | None = None,
    ) -> ApprovalNeed:
        """Say whether a person is needed, and why. The first line that applies decides.

        Args:
            entry: The tool; `None` for an unknown name, which always needs a person.
            surface: Where the run is driven from.
            arguments: The effective arguments of one call; `None` asks about the tool as such.
            predicate: The saved outcome of the per-call predicate, where it was asked before.
        """
        if entry is None:
            return ApprovalNeed(needed=True, reason="the tool is unknown")
        profile = entry.profile
        if profile.input_schema is not None:
            return ApprovalNeed(needed=True, reason="a person fills in its input", typed_input=True)
        if profile.requires_approval:
            return ApprovalNeed(needed=True, reason="it is marked as requiring approval")
        if entry.name in self.asks:
            return ApprovalNeed(needed=True, reason="its operator wants to be asked about it")
        if profile.approval_when is not None:
            if arguments is None:
                return ApprovalNeed(needed=True, reason="whether it needs approval depends on its arguments")
            if predicate is None:
                predicate = ask_predicate(entry, arguments)
            if predicate is not False:
                return ApprovalNeed(needed=True, reason="its own predicate asks for approval of these arguments")
        if entry.server is not None:
            declared = entry.declared
            if declared is not None:
                said = "requires" if declared else "does not require"
                return ApprovalNeed(needed=declared, reason=f"its operator declared that it {said} approval")
            if self.undeclared_remote == "exempt" and entry.server.declaration(entry.name) is None:
                return ApprovalNeed(needed=False, reason="it is remote and undeclared, which is exempt here")
            answer = surface.answer(None)
            return ApprovalNeed(
                needed=answer is not Verdict.ALLOW,
                reason=f"it is remote and undeclared, which surface {surface.name!r} answers with {answer.value!r}",
            )
        return _surface_need(surface, entry.tier)


@lru_cache(maxsize=1024)
def _surface_need(surface: Surface, tier: Tier | None) -> ApprovalNeed:
    """What the surface says of a tier: the answer for most calls, and always the same one."""
    answer, name = surface.answer(tier), "unclassified" if tier is None else tier.value
    return ApprovalNeed(
        needed=answer is not Verdict.ALLOW,
        reason=f"surface {surface.name!r} answers {answer.value!r} for {name} tools",
    )


def ask_predicate(entry: CatalogEntry, arguments: Mapping[str, Any]) -> bool | None:
    """Ask the profile's per-call predicate; `None` where it has none.

    Exactly `False` is a no. Raising, or any answer that is not a bool, calls for a person.
    """
    predicate = entry.profile.approval_when
    if predicate is None:
        return None
    try:
        # A copy: what a predicate does to its arguments must not change the call that runs.
        return predicate(deepcopy(dict(arguments))) is not False
    except Exception:
        return True
