"""Names that are resolved once: an argument policy may put what it checked in the place of what was written.

`HTTP://Example.com:80/x` is one address with `http://example.com/x`, and `a/../b` one file with `b`. What a
person is shown, what a rule remembers and what the tool gets must be the one that was checked.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.catalog.arguments import EffectiveArguments
from toolgate_langchain.errors import InvalidArgumentsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["ResolvingPolicy", "names_elsewhere", "resolved"]


@runtime_checkable
class ResolvingPolicy(Protocol):
    """An argument policy that resolves what arguments name, besides judging them."""

    def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What takes the place of each argument that it looks at, by name. What it resolved before stays as it is.

        It refuses nothing: what it cannot resolve it gives back as it is, and denies when it is asked as a policy.

        Args:
            entry: The tool.
            arguments: The arguments as validation leaves them. A copy.
        """
        ...


def resolved(
    entry: CatalogEntry, arguments: EffectiveArguments, resolving: Sequence[ResolvingPolicy]
) -> EffectiveArguments:
    """The effective arguments with what they name resolved.

    Args:
        entry: The tool.
        arguments: What validation made of the model's words.
        resolving: The policies that resolve, in order.

    Raises:
        InvalidArgumentsError: If the tool's validation and the policies do not agree on what is named, or a
            policy raises; then nobody could say what the tool would get.
    """
    first = _replaced(entry, arguments.values, resolving)
    if first is arguments.values:
        return arguments
    again = arguments if entry.arguments is None else entry.arguments.effective(first)
    values = first if entry.arguments is None else again.values
    settled = _replaced(entry, values, resolving)
    if settled is not values and canonical_json(settled) != canonical_json(values):
        raise InvalidArgumentsError("what they name changes each time it is looked up")
    return EffectiveArguments(values, exact=again.exact)


def names_elsewhere(
    entry: CatalogEntry, written: Any, judged: Mapping[str, Any], resolving: Sequence[ResolvingPolicy]
) -> bool:
    """Whether the model's own words name something else now than when they were judged: a link was moved.

    Args:
        entry: The tool.
        written: The arguments as the model wrote them.
        judged: The effective arguments that were saved with the turn.
        resolving: The policies that resolve.
    """
    try:
        now = written if entry.arguments is None else entry.arguments.effective(written).values
        for policy in resolving:
            fresh = policy.resolve_arguments(entry, deepcopy(now))
            if any(canonical_json(value) != canonical_json(judged.get(name)) for name, value in fresh.items()):
                return True
    except Exception:  # what cannot be looked up any more is not what was judged
        return True
    return False


def _replaced(entry: CatalogEntry, values: dict[str, Any], resolving: Sequence[ResolvingPolicy]) -> dict[str, Any]:
    """The arguments with what the policies put in their place; the very same object where nothing changes."""
    for policy in resolving:
        try:
            fresh = dict(policy.resolve_arguments(entry, deepcopy(values)))
        except Exception as error:
            raise InvalidArgumentsError("what they name could not be looked up") from error
        if any(
            name not in values or canonical_json(values[name]) != canonical_json(new) for name, new in fresh.items()
        ):
            values = {**values, **fresh}
    return values
