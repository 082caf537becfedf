"""A real MCP server: `server.py DIRECTORY stdio NAME`, or `server.py DIRECTORY http NAME...`.

What it lists is read from DIRECTORY/NAME.json whenever it is asked, so that a test can let it change its
mind. Each call that reaches it is noted in DIRECTORY/NAME.calls. Over HTTP every name is a server of its
own at /NAME, all on one port of the loopback, which it writes to its output.
"""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.types import ContentBlock, TextContent, Tool
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount

DIRECTORY, TRANSPORT, *NAMES = sys.argv[1:]


class Amount(BaseModel):
    amount: int


class Told(FastMCP[None]):
    """Lists what its file says, and does nothing but note its calls."""

    async def list_tools(self) -> list[Tool]:
        listed = json.loads((Path(DIRECTORY) / f"{self.name}.json").read_text())
        if listed == "fail":
            raise RuntimeError("no list today")
        if listed == "hang":
            await asyncio.Event().wait()
        return [Tool.model_validate(one) for one in listed]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Sequence[ContentBlock]:
        with (Path(DIRECTORY) / f"{self.name}.calls").open("a") as calls:
            calls.write(json.dumps([name, arguments]) + "\n")
        if name != "pay":
            return [TextContent(type="text", text=f"ran {name}")]
        said = await self.get_context().elicit("How much?", Amount)
        paid = said.data.amount if said.action == "accept" else said.action
        return [TextContent(type="text", text=f"paid: {paid}")]


def serve(names: list[str]) -> None:
    """Serve on a free port until told to stop."""
    servers = [Told(name, streamable_http_path="/", log_level="CRITICAL") for name in names]
    apps = [server.streamable_http_app() for server in servers]

    @contextlib.asynccontextmanager
    async def run(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as running:
            for server in servers:
                await running.enter_async_context(server.session_manager.run())
            yield

    mounted = [Mount(f"/{name}", app=app) for name, app in zip(names, apps, strict=True)]
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        sys.stdout.write(f"{bound.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(
            Starlette(routes=mounted, lifespan=run), log_level="warning", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[bound])


if TRANSPORT == "stdio":
    Told(NAMES[0], log_level="CRITICAL").run()
else:
    serve(NAMES)
