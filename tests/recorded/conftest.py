"""Nothing here may reach a network."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every attempt to connect fail; a reply that is not on the cassette cannot come from anywhere else."""

    def refused(*_: Any) -> None:
        raise AssertionError("a test tried to reach the network")

    def within(connect: Callable[..., Any]) -> Callable[..., Any]:
        # Processes of this machine that speak through a file are no network: new ones are forked at such a word.
        return lambda one, *more: (connect if one.family == socket.AF_UNIX else refused)(one, *more)

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, within(getattr(socket.socket, name)))
    monkeypatch.setattr(socket, "getaddrinfo", refused)
