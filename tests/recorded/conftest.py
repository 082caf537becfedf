"""Nothing here may reach a network."""

from __future__ import annotations

import socket
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every attempt to connect fail; a reply that is not on the cassette cannot come from anywhere else."""

    def connect(*_: Any) -> None:
        raise AssertionError("a test tried to reach the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
