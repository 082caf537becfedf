"""A surface is where a run is driven from; it decides what each tier gets there."""

from __future__ import annotations

from typing import Annotated

from pydantic import Strict, model_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.profile import STRICT
from toolgate_langchain.vocabulary import Tier, Verdict

__all__ = ["Surface"]

_Answer = Annotated[Verdict | None, Strict(False)]


@dataclass(frozen=True, config=STRICT)
class Surface:
    """Where a run is driven from (chat, CLI, cron, MCP), and what each tier gets there.

    An answer left out takes the default: read-only tools are allowed everywhere; the other tiers
    are asked about where a person is there and denied where nobody is.

    Args:
        name: The name that hosts use for it.
        attended: Whether a person is there to be asked.
        read_only: The verdict for read-only tools.
        routine: The verdict for routine tools.
        consequential: The verdict for consequential tools.
        unclassified: The verdict for tools without a tier; may be stricter than the one for
            consequential tools, never milder. Left out, it takes the default, or the verdict for
            consequential tools where that is stricter.

    Raises:
        pydantic.ValidationError: (a `ValueError`) for an empty name, a verdict that is not one, an
            `ask` where nobody is there, or an `unclassified` milder than `consequential`.
    """

    name: str
    attended: bool = True
    read_only: _Answer = None
    routine: _Answer = None
    consequential: _Answer = None
    unclassified: _Answer = None

    @model_validator(mode="after")
    def _coherent(self) -> Surface:
        if not self.name:
            raise ValueError("a surface's name is empty")
        if not self.attended:
            asking = [
                f for f in ("read_only", "routine", "consequential", "unclassified") if getattr(self, f) is Verdict.ASK
            ]
            if asking:
                raise ValueError(
                    f"surface {self.name!r}: {', '.join(asking)} is 'ask', but nobody is there to be asked; "
                    "use 'allow' or 'deny', or attended=True"
                )
        if self.unclassified is not None and self.unclassified < self.answer(Tier.CONSEQUENTIAL):
            raise ValueError(
                f"surface {self.name!r}: unclassified={self.unclassified.value!r} is milder than "
                f"consequential={self.answer(Tier.CONSEQUENTIAL).value!r}; it may only be as strict or stricter"
            )
        return self

    def answer(self, tier: Tier | None) -> Verdict:
        """What a tool of this tier gets here; `None` stands for unclassified."""
        fallback = Verdict.ASK if self.attended else Verdict.DENY
        if tier is Tier.READ_ONLY:
            return self.read_only or Verdict.ALLOW
        if tier is Tier.ROUTINE:
            return self.routine or fallback
        consequential = self.consequential or fallback
        if tier is Tier.CONSEQUENTIAL:
            return consequential
        return self.unclassified or max(fallback, consequential)
