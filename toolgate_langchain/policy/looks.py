"""How much is looked at to tell where the values of one call come from: an end to it, whatever was read before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_LOOKS", "TOO_MUCH", "Looks"]

MAX_LOOKS: Final = 300_000
"""Values and hundreds of characters that are looked at for one call, all its values together: about a second. What
is left then is vouched for by nobody but the person."""

TOO_MUCH: Final = "more was read than can be looked at"


class Looks:
    """What may still be looked at for one call."""

    def __init__(self) -> None:
        self._left = MAX_LOOKS

    @property
    def used_up(self) -> bool:
        """Whether something was left out because there was too much of it."""
        return self._left < 0

    def allow(self, texts: Iterable[str] = (), values: int = 0) -> bool:
        """Whether so much may be looked at; counted as looked at.

        Args:
            texts: Texts, each looked through once.
            values: Values, or what `cost` gave for texts.
        """
        self._left -= values + cost(texts)
        return self._left >= 0


def cost(texts: Iterable[str]) -> int:
    """What looking through texts costs, in values."""
    return sum(1 + len(text) // 100 for text in texts)
