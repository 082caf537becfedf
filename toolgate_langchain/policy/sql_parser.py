"""sqlglot's parser, with an end: how long it takes is bounded by the length of what it reads.

It goes back and tries again where a text can be read in several ways. A short one, `JOIN t JOIN t JOIN t ...`,
makes it try twice as often with each word, which no limit on length or nesting bounds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError, ToolGateError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["UnreadableSqlError", "parse_statements"]

_STEPS_PER_TOKEN: Final = 10
"""Steps for each token. Statements that can be read in one way take one or two."""

_STEPS: Final = 2_000
"""Steps for any statement, however short."""


class UnreadableSqlError(ToolGateError, ValueError):
    """A statement that is not let through: it cannot be read, or has a part that is not listed."""


def parse_statements(text: str, dialect: str) -> list[exp.Expr]:
    """The statements in a text.

    Args:
        text: The text.
        dialect: sqlglot's name of its dialect.

    Raises:
        UnreadableSqlError: If it takes too many steps.
        sqlglot.errors.SqlglotError: If it cannot be read.
        ConfigurationError: If this build of sqlglot cannot be bounded.
    """
    found, _ = _parsed(text, _checked(dialect))
    return found


@lru_cache(maxsize=32)
def _checked(dialect: str) -> str:
    """The dialect, once it was seen that the steps of its parser are counted."""
    if not _parsed("SELECT 1", dialect)[1]:
        # A compiled parser calls its own methods and none of a subclass.
        raise ConfigurationError(
            "this build of sqlglot cannot be bounded in time: use the one without compiled modules (uninstall sqlglotc)"
        )
    return dialect


def _parsed(text: str, dialect: str) -> tuple[list[exp.Expr], int]:
    """The statements, and in how many steps they were read."""
    from sqlglot.dialects.dialect import Dialect

    own = Dialect.get_or_raise(dialect)
    tokens = own.tokenize(text)
    parser = _bounded(own.parser_class)(dialect=own)
    parser.steps_left = most = _STEPS + _STEPS_PER_TOKEN * len(tokens)
    return [one for one in parser.parse(tokens, text) if one is not None], most - parser.steps_left


@lru_cache(maxsize=32)
def _bounded(kind: Any) -> Any:
    class Bounded(kind):  # type: ignore[misc]  # which dialect's parser it is, is known when it runs
        steps_left = 0

        def _warn_unsupported(self) -> None:
            """Say nothing: what is not supported is refused anyway, and sqlglot's own warning quotes the statement."""

        def _advance(self, times: int = 1) -> None:
            self.steps_left -= 1
            if self.steps_left < 0:
                # No error of sqlglot's: it would be caught where another way is tried.
                raise UnreadableSqlError("it can be read in too many ways")
            super()._advance(times)

    return Bounded
