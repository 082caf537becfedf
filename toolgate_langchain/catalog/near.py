"""Names that a misspelt one may have been meant to be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hint", "near_names"]

_NEAR: Final = 0.85
"""Of difflib's measure: one letter more, less or other in a name of five or more. Two names that are both meant, as
`read_file` and `edit_file`, are further from each other."""

_SHOWN: Final = 20


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Those names that one could be a misspelling of, nearest first.

    Such are the same letters in another order, or another case, or with other signs between them, and names that
    differ by little.

    Args:
        name: A name that nothing has.
        known: The names that there are.
    """
    from difflib import SequenceMatcher, get_close_matches  # only where a name was not found

    among = [one for one in known if one != name]
    letters, folded = sorted(_folded(name)), _folded(name)
    found = [one for one in among if sorted(_folded(one)) == letters]
    found += get_close_matches(name, among, cutoff=_NEAR)
    return sorted(dict.fromkeys(found), key=lambda one: -SequenceMatcher(None, folded, _folded(one)).ratio())


def hint(near: Iterable[str], known: Iterable[str]) -> str:
    """What a message says of a name that nothing has: what may have been meant, and what there is."""
    meant, there = [*near][:3], sorted(known)
    listed = ", ".join(map(repr, there[:_SHOWN])) + (f" and {len(there) - _SHOWN} more" * (len(there) > _SHOWN))
    return (f"did you mean {' or '.join(map(repr, meant))}? " if meant else "") + f"known: {listed or 'none'}"


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
