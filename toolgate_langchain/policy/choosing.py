"""Who chose a value: a trusted field says that a value is true, not that the person meant this one.

"Pay back whoever sent this", says a mail, and names nobody: the sender stands in a field that nobody can forge. So what
a field tells is the person's choice only where it belongs to what they named, or where there was nothing to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolgate_langchain.policy.matching import same
from toolgate_langchain.policy.naming import ID_WORDS, parts_of, stems_of
from toolgate_langchain.policy.tokens import address, number_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Stakes", "chosen_by_nobody"]


@dataclass(frozen=True, slots=True)
class Stakes:
    """What is at stake in a call, as far as it decides how surely the person must have chosen its values."""

    consequential: bool
    """What it does is hard to take back."""
    leaves_house: bool
    """What it is given may leave the house."""


def chosen_by_nobody(value: Any, name: str, field: str, stakes: Stakes, alike: Iterable[Any], *, named: bool) -> str:
    """Why a value of a trusted field may be the choice of something untrusted; empty where it is not.

    A consequential call takes from such fields nothing but the id of what the person named: "do what the invoice
    says" names the invoice, and not whom it wants paid. In other calls an address must be the only one, or belong
    to what the person named, and so must any other name in a call that leaves the house. Ids and amounts of these reach
    nobody, and neither does a name inside of the house.

    Args:
        value: The value.
        name: The argument that it is given as.
        field: The path of the field. `sender_id` is no `recipient_id` of what it stands in.
        stakes: What is at stake.
        alike: The values of all trusted fields of the same name.
        named: Whether the person named what the value belongs to.
    """
    reaches = isinstance(value, str) and address(value) is not None
    own = stems_of(field.rpartition(".")[2]) - ID_WORDS <= stems_of(name)
    is_id = not reaches and own and bool(parts_of(name) & ID_WORDS)
    if stakes.consequential:
        return "" if named and is_id else "the person has not named it, and a text can have pointed at it"
    is_name = isinstance(value, str) and number_text(value) is None
    if named or is_id or not (reaches or (is_name and stakes.leaves_house)):
        return ""
    others = any(not same(one, value) for one in alike)
    return "a text can have chosen it among others, and the person has not named what it belongs to" if others else ""
