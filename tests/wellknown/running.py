"""Tools run for real on a folder of their own, with arguments that try to change it.

Nothing here knows what a tool is said to be: every tool gets the same hostile texts for every text
it takes, and what it did is read from the disk and from the sockets that were opened.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import sqlite3
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt.tool_node import ToolCallRequest

from tests.ledger.quick import without_the_disk
from tests.support import ScriptedModel, call, says


def furnish(root: Path) -> Path:
    """A folder with two files and a database."""
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\n")
    (root / "sub" / "b.txt").write_text("two\n")
    with sqlite3.connect(root / "data.db") as connection:
        without_the_disk(connection)
        connection.execute("CREATE TABLE t (n INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()
    return root


def everything_below(folder: Path) -> dict[str, bytes | None]:
    """All files and folders with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@dataclass
class Traces:
    """What running a tool left behind."""

    changed: set[str] = field(default_factory=set)
    """Files that were added, removed or changed."""
    connected: set[str] = field(default_factory=set)
    """Addresses to which a socket was connected."""
    results: list[str] = field(default_factory=list)


# --- arguments ------------------------------------------------------------------------------------


def hostile_texts(address: str) -> list[str]:
    """Paths, commands, statements and addresses, each of which changes something somewhere."""
    return [
        "a.txt",
        "/a.txt",
        "hacked.txt",
        "../hacked.txt",
        "sub",
        "one",
        "touch hacked",
        "$(touch hacked); `touch hacked` | tee hacked",
        "t",
        "'; touch hacked; '",
        '"; touch hacked; "',
        "t; DROP TABLE t",
        "INSERT INTO t DEFAULT VALUES",
        "**/*; DELETE FROM t",
        address,
        f'{{"url": "{address}", "data": {{"stolen": "one"}}}}',
    ]


def hostile_arguments(tool: BaseTool, texts: list[str]) -> list[dict[str, Any]]:
    """Every combination of texts for what a tool requires, and each alone for what it does not."""
    schema = convert_to_openai_tool(tool)["function"]["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    offered = {name: _values(name, spec, texts) for name, spec in properties.items()}
    needed = [{**dict(zip(required, values, strict=True))} for values in _some(offered, required)]
    optional = [
        {**base, name: value} for base in needed[:: len(texts)] for name in offered if name not in required
        for value in offered[name]
    ]  # fmt: skip
    return needed + optional


def _some(offered: dict[str, list[Any]], required: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """All combinations of the first two fields; a third one takes its turn with them."""
    wide, narrow = required[:2], required[2:]
    for places in itertools.product(*(range(len(offered[name])) for name in wide)):
        turn = 1 + sum(place * 3 + 1 for place in places)
        yield (
            *(offered[name][place] for name, place in zip(wide, places, strict=True)),
            *(offered[name][turn % len(offered[name])] for name in narrow),
        )


def _values(name: str, spec: dict[str, Any], texts: list[str]) -> list[Any]:
    """Values for one field, by its JSON Schema."""
    if "anyOf" in spec:
        kinds = [kind for kind in spec["anyOf"] if kind.get("type") != "null"]
        return [value for kind in kinds for value in _values(name, kind, texts)]
    if "enum" in spec:
        return list(spec["enum"])
    match spec.get("type"):
        case "string":
            return texts
        case "boolean":
            return [True, False]
        case "integer":
            return [1, 1000]
        case "array" if name == "todos":
            return [[{"content": text, "status": "pending"}] for text in texts]
        case "array":
            return [[value] for value in _values(name, spec["items"], texts)]
        case _:
            raise NotImplementedError(f"no hostile values for {name!r}: {spec}")


# --- running --------------------------------------------------------------------------------------

_connects: list[set[str]] = []


class _Heard:
    """Hears to which addresses sockets are connected, by whichever library and however far they come.

    An audit hook would hear it too, and could not be taken away again: it slows all that runs after it.
    """

    def __enter__(self) -> None:
        for name in ("connect", "connect_ex"):
            setattr(socket.socket, name, self._noting(name))

    def __exit__(self, *_: object) -> None:
        for name in ("connect", "connect_ex"):
            delattr(socket.socket, name)

    @staticmethod
    def _noting(name: str) -> Callable[[socket.socket, Any], Any]:
        connect = getattr(socket.socket, name)

        def noting(self: socket.socket, address: Any) -> Any:
            if _connects:
                _connects[-1].add(str(address))
            return connect(self, address)

        return noting


LONG: RunnableConfig = {"recursion_limit": 10_000}


class Watching(AgentMiddleware[Any, Any]):
    """Looks at the folder after every call, and lets no call end the run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.traces = folder, Traces()
        self.before = everything_below(folder)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        _connects.append(self.traces.connected)
        try:
            return handler(request)
        except Exception as error:
            return failed(request, error)
        finally:
            self.look()

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        _connects.append(self.traces.connected)
        try:
            return await handler(request)
        except Exception as error:
            return failed(request, error)
        finally:
            self.look()

    def look(self) -> None:
        """Note what the call that just ended left behind."""
        _connects.pop()
        after = everything_below(self.folder)
        self.traces.changed |= {
            path for path in {*self.before, *after} if self.before.get(path, b"-") != after.get(path, b"-")
        }


def failed(request: ToolCallRequest, error: Exception) -> ToolMessage:
    """The result of a call that raised."""
    return ToolMessage(f"Error: {error}", tool_call_id=request.tool_call["id"], status="error")


def run_hostile(
    tool: BaseTool,
    middleware: Sequence[AgentMiddleware[Any, Any]],
    root: Path,
    texts: list[str],
    *,
    always: Mapping[str, Any] | None = None,
    asynchronous: bool = False,
) -> Traces:
    """Let an agent without a gate call one tool with all hostile arguments, one after the other.

    Args:
        tool: One of the tools that the middleware brings, or any other.
        middleware: What the agent has; empty for a tool that is given to the agent itself.
        root: The folder that the tool works on; its parent is watched too.
        texts: What to give it for every text that it takes.
        always: Arguments of every call that does not have them.
        asynchronous: Whether the agent is driven by `ainvoke`.
    """
    given_always = dict(always or {})
    calls = [call(tool.name, **{**given_always, **arguments}) for arguments in hostile_arguments(tool, texts)]
    watching = Watching(root.parent)
    given = [] if middleware else [tool]
    for some in _in_runs(calls):
        model = ScriptedModel(script=[says(one) for one in some])
        agent = create_agent(model, given, middleware=[*middleware, watching])
        with warnings.catch_warnings(), _Heard():
            warnings.filterwarnings("ignore", "The shell tool has no safeguards by default", UserWarning)
            start: Any = {"messages": [HumanMessage("go")]}
            state = asyncio.run(agent.ainvoke(start, LONG)) if asynchronous else agent.invoke(start, LONG)
        watching.traces.results += [str(message.content) for message in state["messages"] if message.type == "tool"]
    assert len(watching.traces.results) == len(calls)
    return watching.traces


def _in_runs(calls: list[ToolCall]) -> list[list[ToolCall]]:
    """Calls in runs of a few: what an agent does for a turn grows with all that was said before."""
    return [calls[start : start + 25] for start in range(0, len(calls), 25)]


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine: its address, and the requests it got."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            heard.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/one", heard
        finally:
            server.shutdown()
            thread.join()
