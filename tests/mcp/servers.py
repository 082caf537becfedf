"""Real MCP servers for the tests: what they list, what reached them, and clients for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.mcp.hatching import Hatchery

if TYPE_CHECKING:
    from langchain_mcp_adapters.client import MultiServerMCPClient

__all__ = ["Servers", "started", "tool"]

_CHILD = Path(__file__).parent / "children" / "server.py"
NAMES = ("files", "web", "a_b")

Listed = dict[str, Any]


def tool(name: str, description: str = "Does something.", **more: Any) -> Listed:
    """A tool as a server lists it; it takes a path unless told otherwise."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


@dataclass(frozen=True)
class Servers:
    """Three servers over HTTP and, with the same files, one over stdio for each name."""

    directory: Path
    port: int
    hatchery: Hatchery

    def lists(self, name: str, *tools: Listed) -> None:
        """From now on, the server lists these tools."""
        self.says(name, tools)

    def says(self, name: str, listed: Any) -> None:
        """From now on, the server does this when asked for its tools: "fail", "hang", or a list."""
        (self.directory / f"{name}.json").write_text(json.dumps(listed))

    def calls(self, name: str) -> list[list[Any]]:
        """The calls that reached a server, as `[name, arguments]`."""
        noted = self.directory / f"{name}.calls"
        return [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []

    def forget(self) -> None:
        """Let every server list nothing, and drop what reached them."""
        for name in NAMES:
            self.lists(name)
            (self.directory / f"{name}.calls").unlink(missing_ok=True)

    def http(self, name: str, **more: Any) -> dict[str, Any]:
        """The connection to a server over streamable HTTP."""
        url = f"http://127.0.0.1:{self.port}/{name}/"
        return {"transport": "streamable_http", "url": url, "httpx_client_factory": _without_certificates, **more}

    def stdio(self, name: str, **more: Any) -> dict[str, Any]:
        """The connection to a server that the client starts as a child process."""
        command, *arguments = self.hatchery.command(str(_CHILD), str(self.directory), "stdio", name)
        return {"transport": "stdio", "command": command, "args": arguments, **more}

    def client(self, *names: str, connections: Mapping[str, Any] | None = None, **more: Any) -> MultiServerMCPClient:
        """A client of these servers over HTTP, or of the connections given."""
        from langchain_mcp_adapters.client import MultiServerMCPClient

        given: dict[str, Any] = {name: self.http(name) for name in names} if connections is None else dict(connections)
        return MultiServerMCPClient(given, **more)


def _without_certificates(
    headers: dict[str, str] | None = None, timeout: httpx.Timeout | None = None, auth: httpx.Auth | None = None
) -> httpx.AsyncClient:
    """As the client's own, but nothing loads the system's certificates for each call to the loopback."""
    return httpx.AsyncClient(headers=headers, timeout=timeout, auth=auth, follow_redirects=True, verify=False)


@contextmanager
def started(directory: Path, hatchery: Hatchery, names: Sequence[str] = NAMES) -> Iterator[Servers]:
    """Start the servers over HTTP, and stop them again."""
    with hatchery.started(str(_CHILD), str(directory), "http", *names) as output:
        yield Servers(directory, int(output.readline()), hatchery)
