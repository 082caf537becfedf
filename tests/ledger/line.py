"""A line to a PostgreSQL server that can break: a real proxy on the loopback interface."""

from __future__ import annotations

import select
import socket
import threading
from types import TracebackType


class Line:
    """Carries connections to a server's socket, until it is told to break them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.down = False
        """Whether the line is cut: what comes in is closed at once, and what is open at its next word."""
        self.lose_commits = 0
        """How many replies to a commit are still lost, each with its connection."""
        self.cut_before = b""
        """The next message that holds these bytes does not arrive, and its connection is lost."""
        self._ended = False
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _listen(self) -> None:
        while True:
            client, _ = self._listening.accept()
            if self._ended:
                client.close()
                return
            if self.down:
                client.close()
                continue
            self._threads.append(threading.Thread(target=self._carry, args=(client,)))
            self._threads[-1].start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            while not self._ended:
                ready, _, _ = select.select([client, server], [], [], 0.05)
                for one in ready:
                    data = one.recv(65_536)
                    if not data or self.down:
                        return
                    if one is server:
                        client.sendall(data)
                        continue
                    if self.cut_before and self.cut_before in data:
                        self.cut_before = b""
                        return
                    server.sendall(data)
                    if self.lose_commits and b"COMMIT" in data:
                        self.lose_commits -= 1
                        server.recv(65_536)  # it is committed, and nobody hears of it
                        return
