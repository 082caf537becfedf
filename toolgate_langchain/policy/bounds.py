"""A run inside of another one has at most its rights: where both say something, the stricter holds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from toolgate_langchain.policy.caller import Caller
from toolgate_langchain.policy.context import worst_zone
from toolgate_langchain.policy.surface import Surface
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from toolgate_langchain.policy.context import RunContext

__all__ = ["strictest", "within"]


def strictest(surfaces: tuple[Surface, ...]) -> Surface:
    """One surface that gives each tier the strictest answer that any of them gives.

    A person is there only where one is there on each of them; what one of them asks about is denied
    where nobody is there on another. Its name is made of all their names, from the root's on, so that
    a standing rule made on it holds on this combination alone.

    Args:
        surfaces: At least one, from the root's on.
    """
    return surfaces[0] if len(surfaces) == 1 else _combined(surfaces)


@lru_cache(maxsize=256)
def _combined(surfaces: tuple[Surface, ...]) -> Surface:
    attended = all(surface.attended for surface in surfaces)

    def answer(tier: Tier | None) -> Verdict:
        strict = max(surface.answer(tier) for surface in surfaces)
        return Verdict.DENY if strict is Verdict.ASK and not attended else strict

    return Surface(
        " > ".join(surface.name for surface in surfaces),
        attended=attended,
        read_only=answer(Tier.READ_ONLY),
        routine=answer(Tier.ROUTINE),
        consequential=answer(Tier.CONSEQUENTIAL),
        unclassified=answer(None),
    )


def within(own: RunContext, outer: RunContext) -> RunContext:
    """What is left of a run's rights inside of another run.

    - surface: the strictest of both; see `strictest`.
    - caller: the outer run's, who is an administrator only where both say so; nobody where either
      runs for nobody.
    - configuration: all must permit a tool.
    - zone: the worst, one that is not declared counted as external-anywhere where the other is.

    Doing it twice gives the same, so that it can be done again when a run goes on.

    Args:
        own: What the run itself was given.
        outer: What the run around it has.
    """
    surfaces = tuple(dict.fromkeys((*outer.surfaces, *own.surfaces)))
    caller = None
    if own.caller is not None and outer.caller is not None:
        caller = Caller(outer.caller.id, admin=outer.caller.admin and own.caller.admin)
    bounded = replace(
        own,
        surface=strictest(surfaces),
        caller=caller,
        configurations=tuple(dict.fromkeys((*own.configurations, *outer.configurations))),
        zone=worst_zone((outer.zone, own.zone)),
        combined=surfaces if len(surfaces) > 1 else (),
    )
    return own if bounded == own else bounded
