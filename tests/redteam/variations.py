"""Variations of hostile input, the same ones each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

__all__ = ["COUNT", "variations"]

COUNT = 200


def variations(make: Callable[[random.Random], str]) -> Iterator[str]:
    """Two hundred different texts.

    Args:
        make: Makes one by chance; it must be able to make that many.
    """
    chance, made = random.Random(0), set[str]()
    for _ in range(COUNT * 50):
        one = make(chance)
        if one not in made:
            made.add(one)
            yield one
        if len(made) == COUNT:
            return
    raise AssertionError(f"only {len(made)} variations could be made")
