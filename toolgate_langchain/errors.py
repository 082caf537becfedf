"""Every error that this package raises, in one hierarchy.

    ToolGateError
    ├── ConfigurationError (ValueError)   the gate, a catalog, a surface or an agent is put together wrongly
    │   ├── CatalogError                  a tool cannot be registered, classified or found
    │   ├── MissingCheckpointerError      an attended agent has nowhere to keep a pending question
    │   └── LedgerSchemaError             a ledger's database is of a newer version, or another program's
    ├── MissingExtraError (ImportError)   an optional library is needed; the message names the extra
    ├── InvalidArgumentsError (ValueError)  arguments that the gate cannot carry exactly, or that do not fit
    │   └── NotPlainJsonError             a value that JSON or a store cannot carry exactly
    ├── InvalidAnswerError (ValueError)   an answer in a shape that means nothing here
    ├── HeuristicError                    a heuristic raised; the run fails before anything is saved
    ├── DataAboveZoneError                a run's models are in a zone that may not have what was read before
    ├── LedgerError                       a ledger's database cannot be used; nothing is released
    ├── AlreadyAnsweredError              another worker carries this answer, or is at this call; nothing was saved
    ├── RecordError (ValueError)          a line of an exported record cannot be read, or was altered
    ├── SessionError (ValueError)         a saved session is altered, unsigned, newer, or belongs elsewhere
    ├── ToolApprovalRequired              a `GatedAgent` waits for a person, and was told to raise then
    ├── TurnLimitReached                  a `GatedAgent` made as many turns as it may
    └── ForeignInterruptError             a run waits for something that is not an approval

What the *model* is told is never an exception: a refused call becomes a tool message.

Models built with pydantic (`ToolProfile`, `Surface`, `RunConfiguration`, …) raise pydantic's own
`ValidationError`, which is a `ValueError` too and names the field, what was given and what is allowed.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "AlreadyAnsweredError",
    "CatalogError",
    "ConfigurationError",
    "DataAboveZoneError",
    "ForeignInterruptError",
    "HeuristicError",
    "InvalidAnswerError",
    "InvalidArgumentsError",
    "LedgerError",
    "LedgerSchemaError",
    "MissingCheckpointerError",
    "MissingExtraError",
    "NotPlainJsonError",
    "RecordError",
    "SessionError",
    "ToolApprovalRequired",
    "ToolGateError",
    "ToolGateWarning",
    "TurnLimitReached",
    "needs_extra",
    "needs_installed",
    "says_what_it_takes",
]


_P = ParamSpec("_P")


class ToolGateError(Exception):
    """The base of every error of this package."""


class ConfigurationError(ToolGateError, ValueError):
    """Something is put together wrongly; the message names it, what was given and what is allowed."""


class CatalogError(ConfigurationError):
    """A tool cannot be registered, classified or found in the catalog."""


class MissingCheckpointerError(ConfigurationError):
    """A person may be asked, but the agent has no checkpointer to keep the question in."""


class LedgerSchemaError(ConfigurationError):
    """The database of a ledger is of a newer version than this package knows, or another program's."""


class MissingExtraError(ToolGateError, ImportError):
    """An optional library is needed that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        """Name what was wanted and the extra that brings it.

        Args:
            feature: What needs the library, as the start of a sentence.
            extra: The name of the extra of this distribution.
        """
        super().__init__(f"{feature} needs an optional library: pip install 'toolgate-langchain[{extra}]'")
        self.extra = extra


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Turn the failure of an optional import into an error that names the extra.

    Args:
        feature: What needs the library, as the start of a sentence.
        extra: The name of the extra of this distribution.

    Raises:
        MissingExtraError: If an import inside fails because a library is not installed.
    """
    try:
        yield
    except MissingExtraError as error:
        # What was wanted says more than the part of the package that could not be loaded for it.
        raise MissingExtraError(feature, error.extra) from error
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("toolgate_langchain"):
            raise
        raise MissingExtraError(feature, extra) from error


def needs_installed(feature: str, extra: str, *libraries: str) -> None:
    """Refuse to go on without libraries, which are looked for and not loaded.

    Args:
        feature: What needs them, as the start of a sentence.
        extra: The name of the extra of this distribution that brings them.
        libraries: The top-level names of their packages.

    Raises:
        MissingExtraError: If one is not installed.
    """
    for library in libraries:
        try:
            found = find_spec(library)
        except ImportError as error:
            raise MissingExtraError(feature, extra) from error
        if found is None:
            raise MissingExtraError(feature, extra)


def says_what_it_takes(init: Callable[_P, None]) -> Callable[_P, None]:
    """Let a constructor that is given other arguments than it has say which ones it has.

    Args:
        init: An `__init__`.

    Returns:
        The same one, which raises a `ConfigurationError` where Python alone raises a `TypeError`.
    """
    takes = signature(init)

    @wraps(init)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            takes.bind(*args, **kwargs)
        except TypeError as error:
            of, names = type(args[0]).__name__, [*takes.parameters][1:]
            raise ConfigurationError(f"{of}(...): {error}; it takes {', '.join(names) or 'nothing'}") from error
        init(*args, **kwargs)

    return checked


class InvalidArgumentsError(ToolGateError, ValueError):
    """The arguments of a call do not fit its tool; the message can be shown to the model."""


class NotPlainJsonError(InvalidArgumentsError):
    """A value that JSON or the stores cannot carry exactly, with the place where it sits."""


class InvalidAnswerError(ToolGateError, ValueError):
    """An answer whose shape means nothing here; the person is asked again with this message."""


class HeuristicError(ToolGateError):
    """A heuristic raised. Its own error is the cause; nothing of the turn was saved or run."""


class DataAboveZoneError(ToolGateError):
    """More sensitive data was read in a conversation than the zone of a run's models may have; no model is called."""


class LedgerError(ToolGateError):
    """The database of a ledger cannot be used. What it would have had to allow does not happen."""


class AlreadyAnsweredError(ToolGateError):
    """Another worker carries this answer into its run, or is at this very call. Nothing was saved or run here.

    The run goes on there. Where that worker died, whoever resumes the run when its lease is over goes on with it.
    """


class ForeignInterruptError(ToolGateError):
    """A run is paused by an interrupt that is not the gate's, and nobody said how to answer it."""


class SessionError(ToolGateError, ValueError):
    """A saved session that is not used: altered, unsigned, newer than this version, or of another agent or thread."""


class RecordError(ToolGateError, ValueError):
    """A line of an exported record that cannot be read, or that was changed, moved or taken out."""

    def __init__(self, line: int, why: str) -> None:
        """Name the line and what is wrong with it.

        Args:
            line: Its number in the file, from 1.
            why: What is wrong.
        """
        super().__init__(f"line {line} of the record: {why}")
        self.line = line


class ToolApprovalRequired(ToolGateError):  # it says what is needed, not what failed
    """A `GatedAgent` with `on_approval="raise"` waits for a person."""

    def __init__(self, session: Any, request: Any) -> None:
        """Keep what is needed to go on.

        Args:
            session: The `ApprovalSession` to resume with an answer.
            request: The `ApprovalRequest` to show.
        """
        super().__init__(
            f"{request.tool_name!r} needs a person's approval: show `request`, and give the answer to "
            "GatedAgent.resume(session, answer)"
        )
        self.session, self.request = session, request


class TurnLimitReached(ToolGateError):  # it says what was reached
    """A `GatedAgent` made as many turns in one run as it may; no call is left without its result."""

    def __init__(self, session: Any, max_turns: int) -> None:
        """Keep what is needed to go on.

        Args:
            session: The `ApprovalSession` of the conversation so far.
            max_turns: The limit.
        """
        super().__init__(
            f"the run made {max_turns} turns of the model, which is its limit: go on with the session by an agent with "
            "a higher max_turns, or send the user's next words with it, which starts a new run"
        )
        self.session, self.max_turns = session, max_turns


class ToolGateWarning(UserWarning):
    """Something was refused or ignored while the agent goes on; worth a look by its developer."""
