"""What a command says where it cannot be used like this, or where its database is away."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from toolgate_langchain.errors import ConfigurationError, LedgerError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plain_errors"]

_FAILED: Final = 1
_USAGE: Final = 2


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the user can mend into one sentence, and an exit code: 2 for a wrong use, 1 for a ledger away."""
    try:
        yield
    except (ConfigurationError, MissingExtraError) as error:
        typer.echo(f"toolgate: {error}", err=True)
        raise typer.Exit(_USAGE) from error
    except LedgerError as error:
        typer.echo(f"toolgate: {error}", err=True)
        raise typer.Exit(_FAILED) from error
