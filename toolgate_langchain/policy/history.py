"""What was read and said in a conversation so far, with the label of each part: what flow is decided on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.vocabulary import DataClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.catalog.profile import ToolProfile

__all__ = [
    "MAX_READ",
    "UNLABELLED",
    "History",
    "ReadResult",
    "ResultLabel",
    "Scalar",
    "label_of",
    "scalars",
    "too_many",
]

UNTRUSTED_MARK: Final = "untrusted"
"""The note that something untrusted was read."""
CLASS_MARK: Final = "class:"
"""The start of the note that data of a class was read."""

MAX_READ: Final = 100_000
"""Characters of one text that are looked at. What stands behind them names nothing."""

MAX_SCALARS: Final = 20_000
"""Values of one structured result that are looked at; what comes behind them vouches for nothing."""


_DEEPEST: Final = 200
"""Objects inside of each other that are told apart; no declared field lies deeper, and what does belongs to none."""


@dataclass(frozen=True, slots=True)
class ResultLabel:
    """What the result of a tool is: whose words it holds, and how sensitive it is.

    Raises:
        ConfigurationError: If a field is of another type. The text "false" is not false, and no text is a set.
    """

    trusted: bool = False
    """Nobody but the operator and the person can have written any of it."""
    trusted_fields: frozenset[str] = frozenset()
    """Of a result that is not trusted: the fields that nobody else can have written, as dotted paths."""
    data_class: DataClass | None = None
    """`None` where nobody said, which counts as secret once zones are in use."""

    def __post_init__(self) -> None:
        # An operator's function makes these, from whatever it looked at: what is no typed yes must not be read as one.
        if not isinstance(self.trusted, bool):
            raise ConfigurationError(f"trusted is {self.trusted!r}; it must be True or False")
        fields: Any = self.trusted_fields
        if not isinstance(fields, set | frozenset) or not all(isinstance(one, str) for one in fields):
            raise ConfigurationError(f"trusted_fields is {fields!r}; it must be a set of texts")
        if self.data_class is not None and not isinstance(self.data_class, DataClass):
            raise ConfigurationError(f"data_class is {self.data_class!r}; it must be a DataClass or None")


UNLABELLED: Final = ResultLabel()


def label_of(profile: ToolProfile) -> ResultLabel:
    """What a profile says of a tool's results."""
    return ResultLabel(profile.results_trusted, profile.trusted_fields, profile.data_class)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One result that the model has read."""

    tool: str
    text: str
    structure: Any = None
    """The result as plain JSON, where it has a structure; else `None`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the tool was called with. A result never vouches for what its own call said."""
    label: ResultLabel = UNLABELLED


@dataclass(frozen=True, slots=True)
class History:
    """A conversation up to a turn, as far as flow depends on it. Labels only ever get worse along a thread."""

    words: tuple[str, ...] = ()
    """The person's own words: the messages of the input to the root graph, and nothing else."""
    results: tuple[ReadResult, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    """Text from elsewhere, each with where it comes from; it is not trusted."""
    untrusted: bool = False
    """Whether anything untrusted was read in the conversation, also where it is not there any more."""
    data_class: DataClass | None = None
    """The most sensitive class of what was read in the conversation; `None` while nothing was."""

    def marks(self) -> dict[str, str]:
        """What is saved of it with a turn, in the form of notes: how bad it was when the turn was judged."""
        marks = {UNTRUSTED_MARK: ""} if self.untrusted else {}
        return marks if self.data_class is None else {**marks, f"{CLASS_MARK}{self.data_class.value}": ""}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value in a structured result."""

    value: Any
    path: str
    """The keys that lead to it, joined by dots, and a dot in a key as `\\.`; places in lists are left out."""
    record: int
    """A number for the object that it stands in, the same for all values of that object and of those inside."""
    ancestors: tuple[int, ...] = ()
    """The objects around that one."""


def too_many(structure: Any, most: int = MAX_SCALARS) -> bool:
    """Whether a structure has more values than are looked at, so that nothing can be said of all of them."""
    return sum(1 for _ in islice(_all_scalars(structure), most + 1)) > most


def scalars(structure: Any) -> Iterator[Scalar]:
    """The values of a structure that are neither objects nor lists, in their order; not more than are looked at."""
    return islice(_all_scalars(structure), MAX_SCALARS)


def _all_scalars(structure: Any) -> Iterator[Scalar]:
    waiting: list[tuple[Any, str, int, tuple[int, ...]]] = [(structure, "", 0, ())]
    records = 0
    while waiting:
        value, path, record, ancestors = waiting.pop()
        if isinstance(value, Mapping):
            records += 1
            if len(ancestors) == _DEEPEST:
                # One path for all that lies deeper: written out, they would be as long as the depth's square.
                waiting.extend(
                    (value[key], f"{path}.".rstrip(".") + ".", records, ancestors) for key in reversed(list(value))
                )
                continue
            inside = (*ancestors, record)
            for key in reversed(list(value)):
                # A dot in a key joins nothing: `{"a.b": 1}` is not `{"a": {"b": 1}}`.
                step = str(key).replace(".", "\\.")
                waiting.append((value[key], f"{path}.{step}" if path else step, records, inside))
        elif isinstance(value, list | tuple):
            waiting.extend((item, path, record, ancestors) for item in reversed(value))
        else:
            yield Scalar(value, path, record, ancestors)
