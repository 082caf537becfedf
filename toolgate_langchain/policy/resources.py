"""Which named resources a run may use: one policy for every path that reads a table, a file or a collection."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from toolgate_langchain.catalog.checks import listed_names
from toolgate_langchain.errors import ConfigurationError, says_what_it_takes

if TYPE_CHECKING:
    from toolgate_langchain.policy.caller import Caller

__all__ = ["CallerRight", "ResourcePolicy"]

CallerRight: TypeAlias = "Callable[[Caller, str], bool]"
"""Whether a caller, who is no administrator, may use a resource. Only exactly `True` is a yes."""

_REASONS: Final = {
    "no_caller": "nobody is calling, or the resource has no name",
    "denied": "it is on the list of what nobody may use",
    "unknown": "there is no such resource",
    "admin_only": "only an administrator may use it",
    "no_right": "the caller has no right to it",
}


class ResourcePolicy:
    """Whether a caller may use a named resource: a table, a file, a collection.

    The first line that applies decides:

    1. no caller, or an empty name: no;
    2. on the denylist: no, for administrators too;
    3. unknown: no;
    4. the caller is an administrator: yes;
    5. admin-only: no;
    6. otherwise the caller's right.

    Listing, describing and reading ask the same policy, so that nothing is listed that cannot be read and
    nothing can be read that is not listed. What a model is told of a resource that it may not use must be what
    it is told of one that does not exist: same text, same shape, same code. `SqlResources` and `FileResources`
    do so; `why_not` is for operators.

    It does not protect what a permitted resource shows of another one: a view of a denied table, a copy, an
    archive, a hard link.

    Args:
        rights: What callers who are no administrators may use: a function of caller and name, or the names by
            caller id, where `"*"` is every caller. Left out, they may use whatever is neither denied nor
            admin-only.
        denied: Names that nobody may use.
        admin_only: Names that only administrators may use.
        known: All names there are, or a function that says whether there is one. Left out, whoever asks must
            say so (`SqlResources` asks the database, `FileResources` the disk).
        separator: What parts a name from those below it, as `"/"` for files: what holds for a folder then
            holds for everything in it.

    Names are compared byte for byte, but for the denylist and admin-only names, where case and the ways in which
    Unicode writes a letter make no difference: no file system or database that ignores them opens a way around.

    Raises:
        ConfigurationError: If names are not a list of texts, or one is empty, and for anything else that is not what
            it should be.
    """

    restricted: tuple[str, ...]
    """The names of the denylist and those that are admin-only, as they were given."""

    @says_what_it_takes
    def __init__(
        self,
        *,
        rights: CallerRight | Mapping[str, Collection[str]] | None = None,
        denied: Iterable[str] = (),
        admin_only: Iterable[str] = (),
        known: Collection[str] | Callable[[str], bool] | None = None,
        separator: str | None = None,
    ) -> None:
        if rights is not None and not isinstance(rights, Mapping) and not callable(rights):
            raise ConfigurationError(f"rights is {rights!r}; it must be a function, or names by caller id")
        if separator is not None and (not isinstance(separator, str) or not separator):
            raise ConfigurationError(f"separator is {separator!r}; it must be a text that is not empty, or None")
        self._separator = separator
        never, rarely = listed_names("denied", denied), listed_names("admin_only", admin_only)
        self.restricted = (*never, *rarely)
        self._denied, self._admin_only = frozenset(map(_folded, never)), frozenset(map(_folded, rarely))
        self._known = known if known is None or callable(known) else frozenset(listed_names("known", known))
        self._rights = (
            {caller: frozenset(listed_names(f"rights[{caller!r}]", names)) for caller, names in rights.items()}
            if isinstance(rights, Mapping)
            else rights
        )

    def may(self, caller: Caller | None, name: str, *, known: bool | None = None) -> bool:
        """Whether a caller may use a resource.

        Args:
            caller: For whom the run runs; `None` is nobody, who may use nothing.
            name: The resource.
            known: Whether there is such a resource, where whoever asks has looked. It does not count where
                the policy knows the names itself.
        """
        return self._refusal(caller, name, known) is None

    def visible(self, caller: Caller | None, names: Iterable[str]) -> list[str]:
        """Those names of a listing that the caller may use, in their order.

        Args:
            caller: For whom the run runs.
            names: Names of resources that there are.
        """
        return [name for name in names if self.may(caller, name, known=True)]

    def why_not(self, caller: Caller | None, name: str, *, known: bool | None = None) -> str | None:
        """Why a caller may not use a resource, for operators; `None` where it may be used. Never tell the model.

        Args:
            caller: As for `may`.
            name: As for `may`.
            known: As for `may`.
        """
        refusal = self._refusal(caller, name, known)
        return None if refusal is None else _REASONS[refusal]

    def _refusal(self, caller: Caller | None, name: str, known: bool | None) -> str | None:
        if caller is None or not isinstance(name, str) or not name.strip():
            return "no_caller"
        above = self._with_those_above(_folded(name))
        if not self._denied.isdisjoint(above):
            return "denied"
        if not self._is_known(name, known):
            return "unknown"
        if caller.admin is True:
            return None
        if not self._admin_only.isdisjoint(above):
            return "admin_only"
        return None if self._has_right(caller, name) else "no_right"

    def _is_known(self, name: str, known: bool | None) -> bool:
        if self._known is None:
            return known is True
        return _says_true(self._known, name) if callable(self._known) else name in self._known

    def _has_right(self, caller: Caller, name: str) -> bool:
        rights = self._rights
        if rights is None:
            return True
        if callable(rights):
            return _says_true(rights, caller, name)
        granted = rights.get(caller.id, frozenset()) | rights.get("*", frozenset())
        return not granted.isdisjoint(self._with_those_above(name))

    def _with_those_above(self, name: str) -> list[str]:
        """A name and the names of what it lies in."""
        if not self._separator:
            return [name]
        parts = name.split(self._separator)
        return [self._separator.join(parts[:count]) for count in range(1, len(parts) + 1)]


def _says_true(function: Callable[..., bool], *given: object) -> bool:
    """Whether an operator's function says exactly `True`; one that raises does not."""
    try:
        return function(*given) is True
    except Exception:
        return False


def _folded(name: str) -> str:
    """The name as the most careless reader sees it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
