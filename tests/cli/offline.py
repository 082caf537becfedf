"""The command where nothing can be reached; any process may run it."""

import socket
from typing import Any

from toolgate_langchain.cli import main


def _connect(*_: Any) -> None:
    raise OSError("this test has no network")


for _name in ("connect", "connect_ex"):
    setattr(socket.socket, _name, _connect)
vars(socket)["getaddrinfo"] = _connect
main()
