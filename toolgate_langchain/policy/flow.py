"""What may follow what: a policy that knows what was read before a call, and where its arguments come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolgate_langchain.errors import ConfigurationError, says_what_it_takes
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.choosing import Stakes
from toolgate_langchain.policy.history import UNLABELLED, History, ResultLabel, scalars, too_many
from toolgate_langchain.policy.naming import said_by_person
from toolgate_langchain.policy.provenance import Origin, Provenance
from toolgate_langchain.policy.sensitive import is_sensitive
from toolgate_langchain.policy.tokens import address, addresses, number_text, web_schemes
from toolgate_langchain.vocabulary import DataClass, Tier, TrustZone, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.catalog.profile import ToolProfile
    from toolgate_langchain.policy.arguments import ArgumentView

__all__ = ["FlowPolicy", "Traced"]

LabelResult: TypeAlias = Callable[[str, Any, ResultLabel], ResultLabel]

_ALLOWED: Final = PolicyAnswer(Verdict.ALLOW)
_STAYS: Final = ("none", "own_site")
"""Scopes in which nothing that a tool is given leaves the house."""
_MOST: Final = 200
"""Values of one call that are traced; each is looked for in all that was read. A call with more is asked about."""
_MINUTE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::00)?Z?)?")
_SHOWN: Final = 80
"""Characters of a value that a reason repeats; the request shows all of it beside."""


@dataclass(frozen=True, slots=True)
class Traced:
    """One decisive value of a call, with where it comes from."""

    argument: str
    value: Any
    origin: Origin
    sensitive: Collection[str] = ()
    """What the tool's profile declares to be sensitive."""

    @property
    def name(self) -> str:
        """The innermost name that the value stands under."""
        return self.argument.rpartition(".")[2]

    @property
    def text(self) -> str:
        """In one line, for the person who is asked."""
        if is_sensitive(self.name) or self.name in self.sensitive:
            return f"{self.argument}, which is sensitive, comes from {self.origin.words}"
        value = str(self.value)
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        return f"{self.argument} {shown!r} comes from {self.origin.words}"


class FlowPolicy:
    """Says what may follow what was read; an argument policy for `ToolGate(argument_policies=[FlowPolicy()])`.

    What a tool's results are stands on its profile: `results_trusted`, `trusted_fields` and `data_class`. What
    nobody labelled is untrusted. Two rules:

    - **Influence.** Once anything untrusted was read in the conversation, a change whose decisive arguments
      (`ToolProfile.decisive`; all, where nothing is declared) do not come from the person's own words or from
      trusted data is asked about, whatever a standing rule or a heuristic says. So is an address inside of its
      other arguments, and a call that only reads and whose arguments leave the house. A trusted field does not
      say who chose its value; see `policy.choosing`.
    - **Zones.** Data above a zone's ceiling does not reach the zone: a call that hands something to a tool outside
      of the house (`ToolProfile.zone`; anywhere, where nothing is declared) is denied after more sensitive data
      was read, unless all that it carries is the person's own words. It holds once a zone is in use: the
      run's, or the tool's own.

    It does not protect from what untrusted text makes of a call without a decisive argument, from a choice
    among values that are all trusted, or from what a tool reads inside.

    Args:
        observe: Decide nothing and log what would have been decided. Exactly `True` switches it on.
        label: Says what one result is, where its profile cannot: a function of the tool's name, the result (plain
            JSON where it has a structure, else its text) and the label that the profile declares.
        history: The most sensitive class of data that can stand in history from elsewhere: in a model's words that
            came with the input, and in results that this gate did not label. Not declared counts as secret. It is
            never trusted, whatever is declared.

    Raises:
        ConfigurationError: If `observe` is no bool, `label` no function or `history` no `DataClass`.
    """

    __name__ = "flow"
    needs_history = True

    @says_what_it_takes
    def __init__(
        self, *, observe: bool = False, label: LabelResult | None = None, history: DataClass | None = None
    ) -> None:
        if not isinstance(observe, bool):
            raise ConfigurationError(f"observe is {observe!r}; it must be True or False")
        if label is not None and not callable(label):
            raise ConfigurationError(f"label is {label!r}, which cannot be called")
        if history is not None and not isinstance(history, DataClass):
            raise ConfigurationError(f"history is {history!r}; it must be a DataClass or None")
        self.observe, self._label, self.history_class = observe, label, history

    def label_result(self, tool: str, text: str, structure: Any, declared: ResultLabel) -> ResultLabel:
        """The label of one result: the operator's, where a function gives one, else what its profile declares.

        A function that raises, or gives anything else, leaves the result without a label: untrusted, and secret.

        Args:
            tool: The tool.
            text: The result as the model reads it.
            structure: The result as plain JSON, where it has a structure.
            declared: What the tool's profile says.
        """
        if self._label is None:
            return declared
        try:
            label = self._label(tool, text if structure is None else structure, declared)
        except Exception:  # whatever it raises, nobody knows what the result is
            return UNLABELLED
        return label if isinstance(label, ResultLabel) else UNLABELLED

    def __call__(self, view: ArgumentView) -> PolicyAnswer:
        """What holds for one call; everything is allowed while it only observes."""
        return _ALLOWED if self.observe else self.would(view)

    def would(self, view: ArgumentView) -> PolicyAnswer:
        """What holds for one call, also where the policy only observes."""
        history = view.history
        if history is None:
            if _changes(view.entry) or _reaches_out(view.entry.profile):
                return PolicyAnswer(Verdict.ASK, "what was read before it is not known")
            return _ALLOWED
        if above := _above_a_ceiling(view, history):
            return PolicyAnswer(Verdict.DENY, above)
        open_values = [one for one in self.trace(view) if not one.origin.vouched]
        if not open_values:
            return _ALLOWED
        listed = "; ".join(one.text for one in open_values[:5])
        return PolicyAnswer(Verdict.ASK, f"untrusted content was read before it, and {listed}")

    def trace(self, view: ArgumentView) -> list[Traced]:
        """The decisive values of a call, each with where it comes from; none where nothing untrusted was read."""
        history, entry = view.history, view.entry
        if history is None or not history.untrusted:
            return []
        changes = _changes(entry)
        if not changes and not _reaches_out(entry.profile):
            return []
        if too_many(view.arguments, _MOST):
            return [Traced("arguments", "", Origin(False, "too many values to look at each"))]
        stakes = Stakes(entry.effective_tier is Tier.CONSEQUENTIAL, _reaches_out(entry.profile))
        provenance, traced, declared = Provenance(history, stakes), list[Traced](), entry.profile.sensitive
        decisive = _decisive(entry.profile, changes=changes)
        defaults = _defaults(entry)
        for name, given in view.arguments.items():
            if name in defaults and defaults[name] == given and type(defaults[name]) is type(given):
                continue
            for path, value in _values(name, given):
                if decisive is None or name in decisive or path in decisive:
                    traced.append(Traced(path, value, provenance.of(value, name, view.name), declared))
                elif isinstance(value, str):
                    inside = _addresses_in(value)
                    traced.extend(Traced(path, one, provenance.of(one, name, view.name), declared) for one in inside)
            for key in _keys(given):
                # What stands in the place of a name can be an address as well.
                inside = _addresses_in(key)
                traced.extend(Traced(name, one, provenance.of(one, name, view.name), declared) for one in inside)
        return traced


def _changes(entry: CatalogEntry) -> bool:
    return entry.effective_tier.changes_state


def _reaches_out(profile: ToolProfile) -> bool:
    """Whether what a tool is given may leave the house; one that declares nothing counts as doing so."""
    return profile.egress not in _STAYS


def _decisive(profile: ToolProfile, *, changes: bool) -> frozenset[str] | None:
    """The arguments that say what a call does and to whom; `None` where all do."""
    if profile.decisive is not None:
        return profile.decisive | frozenset(profile.endpoints)
    return None if changes or not profile.endpoints else frozenset(profile.endpoints)


def _values(name: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The values of an argument that say something, each with its path."""
    for one in scalars({name: given}):
        if one.value is not None and one.value != "":
            yield one.path, one.value


def _addresses_in(text: str) -> dict[str, None]:
    """The addresses in a text, in order; one that is written by `http` keeps it, which is not `https`."""
    plain = {normal for scheme, normal in web_schemes(text) if scheme == "http"}
    return dict.fromkeys(f"http://{one}" if one in plain else one for one in addresses(text))


def _keys(given: Any) -> Iterator[str]:
    """The keys of the objects in an argument."""
    waiting = [given]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from map(str, value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _defaults(entry: CatalogEntry) -> Mapping[str, Any]:
    """The values that the tool itself has for arguments, which are nobody's words."""
    schema = None if entry.arguments is None else entry.arguments.json_schema
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: one["default"] for name, one in properties.items() if isinstance(one, dict) and "default" in one}


def _exactly(value: Any, words: Iterable[str]) -> bool:
    """Whether a value is written as the person wrote it, or in the one form that everybody has for it.

    Blanks, letters' sizes and digits that tell no two values apart can still carry something away.
    """
    if not isinstance(value, str) or any(value in text for text in words):
        return True
    usual = (address(value), number_text(value))
    return _MINUTE.fullmatch(value) is not None or value.removeprefix("https://") in usual


def _above_a_ceiling(view: ArgumentView, history: History) -> str:
    """Why a call would hand data to a zone that may not have it; empty where it does not."""
    profile = view.entry.profile
    if not _reaches_out(profile) or (view.zone is None and profile.zone is None):
        return ""
    zone = TrustZone.EXTERNAL_ANYWHERE if profile.zone is None else profile.zone
    seen = history.data_class
    if seen is None or seen <= zone.ceiling:
        return ""
    values = [(path, value) for name, given in view.arguments.items() for path, value in _values(name, given)]
    named = not too_many(view.arguments, _MOST) and not any(
        True for given in view.arguments.values() for _ in _keys(given)
    )
    if named and all(
        said_by_person(value, path.partition(".")[0], history.words) and _exactly(value, history.words)
        for path, value in values
    ):
        return ""
    undeclared = " (or of no declared class)" if seen is DataClass.SECRET else ""
    return (
        f"{seen.value} data{undeclared} was read, above {zone.ceiling.value}, the ceiling of zone {zone.value}, "
        "which the tool hands its arguments to"
    )
