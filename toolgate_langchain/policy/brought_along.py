"""Whether a result only gives back what its own call had said, so that it vouches for none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.policy.history import MAX_READ, scalars, too_many
from toolgate_langchain.policy.matching import plain_text, same
from toolgate_langchain.policy.naming import said_by_person
from toolgate_langchain.policy.tokens import address, number_text
from toolgate_langchain.policy.wording import wording

if TYPE_CHECKING:
    from toolgate_langchain.policy.history import ReadResult

__all__ = ["brought_along"]


def brought_along(result: ReadResult, value: Any, name: str) -> bool:
    """Whether the call of a result said the value itself.

    Args:
        result: The result.
        value: The value of an argument of another call.
        name: That argument.
    """
    if too_many(result.arguments):
        return True
    said = [one.value for one in scalars(dict(result.arguments))]
    if any(isinstance(one, str) and len(one) > MAX_READ for one in said):
        return True
    texts = [one for one in said if isinstance(one, str)]
    if any(same(one, value) for one in said) or said_by_person(value, name, texts):
        return True
    number = number_text(plain_text(value))
    if number is not None and any(number in wording(text).unclear for text in texts):
        return True
    # By whatever scheme: what speaks against a value is read generously.
    known = address(value) if isinstance(value, str) else None
    return known is not None and any(known in wording(text).addresses for text in texts)
