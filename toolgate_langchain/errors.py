"""Every error that this package raises, in one hierarchy.

    ToolGateError
    ├── ConfigurationError (ValueError)   the gate, a catalog, a surface or an agent is put together wrongly
    │   ├── CatalogError                  a tool cannot be registered, classified or found
    │   └── MissingCheckpointerError      an attended agent has nowhere to keep a pending question
    ├── MissingExtraError (ImportError)   an optional library is needed; the message names the extra
    ├── InvalidArgumentsError (ValueError)  arguments that the gate cannot carry exactly, or that do not fit
    │   └── NotPlainJsonError             a value that JSON or a store cannot carry exactly
    ├── InvalidAnswerError (ValueError)   an answer in a shape that means nothing here
    ├── HeuristicError                    a heuristic raised; the run fails before anything is saved
    └── ForeignInterruptError             a run waits for something that is not an approval

What the *model* is told is never an exception: a refused call becomes a tool message.

Models built with pydantic (`ToolProfile`, `Surface`, `RunConfiguration`, …) raise pydantic's own
`ValidationError`, which is a `ValueError` too and names the field, what was given and what is allowed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CatalogError",
    "ConfigurationError",
    "ForeignInterruptError",
    "HeuristicError",
    "InvalidAnswerError",
    "InvalidArgumentsError",
    "MissingCheckpointerError",
    "MissingExtraError",
    "NotPlainJsonError",
    "ToolGateError",
    "ToolGateWarning",
    "needs_extra",
]


class ToolGateError(Exception):
    """The base of every error of this package."""


class ConfigurationError(ToolGateError, ValueError):
    """Something is put together wrongly; the message names it, what was given and what is allowed."""


class CatalogError(ConfigurationError):
    """A tool cannot be registered, classified or found in the catalog."""


class MissingCheckpointerError(ConfigurationError):
    """A person may be asked, but the agent has no checkpointer to keep the question in."""


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
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("toolgate_langchain"):
            raise
        raise MissingExtraError(feature, extra) from error


class InvalidArgumentsError(ToolGateError, ValueError):
    """The arguments of a call do not fit its tool; the message can be shown to the model."""


class NotPlainJsonError(InvalidArgumentsError):
    """A value that JSON or the stores cannot carry exactly, with the place where it sits."""


class InvalidAnswerError(ToolGateError, ValueError):
    """An answer whose shape means nothing here; the person is asked again with this message."""


class HeuristicError(ToolGateError):
    """A heuristic raised. Its own error is the cause; nothing of the turn was saved or run."""


class ForeignInterruptError(ToolGateError):
    """A run is paused by an interrupt that is not the gate's, and nobody said how to answer it."""


class ToolGateWarning(UserWarning):
    """Something was refused or ignored while the agent goes on; worth a look by its developer."""
