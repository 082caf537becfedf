"""What every ledger checks of how it is set up, and how it says so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from toolgate_langchain.errors import ConfigurationError

__all__ = ["check_lease"]


def check_lease(lease: Any, clock: Any) -> None:
    """Refuse what is no time for a worker to have a claim in, and a clock that cannot be asked.

    Args:
        lease: For how long a worker has a claim to itself.
        clock: Tells the time.

    Raises:
        ConfigurationError: Naming the argument, what was given and what is allowed.
    """
    if not isinstance(lease, timedelta) or lease <= timedelta(0):
        raise ConfigurationError(f"lease must be longer than nothing, not {lease!s}; it is a timedelta")
    if not callable(clock):
        raise ConfigurationError(f"clock is {clock!r}, which cannot be called")
