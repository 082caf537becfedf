"""What the text of a result says besides its structure: the model may get a whole mail, and the program two fields."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from toolgate_langchain.policy.history import scalars

if TYPE_CHECKING:
    from toolgate_langchain.policy.history import ReadResult

__all__ = ["text_beside"]

_WORD: Final = re.compile(r"\w+")


def text_beside(result: ReadResult) -> str:
    """The text without as many of its words as the structure has, so that what is in both is not looked at twice.

    Args:
        result: A result with a structure.
    """
    known = Counter(
        word for one in scalars(result.structure) for part in (one.path, str(one.value)) for word in _WORD.findall(part)
    )
    kept, place = list[str](), 0
    for found in _WORD.finditer(result.text):
        word = found.group()
        kept.append(result.text[place : found.start()])
        place = found.end()
        if known[word] > 0:
            known[word] -= 1
        else:
            kept.append(word)
    return "".join(kept) + result.text[place:]
