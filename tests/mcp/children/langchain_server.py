"""A server for LangChain's own MCP client, over stdio: `langchain_server.py DIRECTORY`.

Its tool `pay` asks how much in the way of the newest protocol. Each call is noted in DIRECTORY/calls; the
words about `act` are those of DIRECTORY/words.
"""

import sys
from pathlib import Path

from fastmcp import Context, FastMCP
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

DIRECTORY = Path(sys.argv[1])
server = FastMCP("remote")


def note(name: str) -> None:
    with (DIRECTORY / "calls").open("a") as calls:
        calls.write(f"{name}\n")


@server.tool(
    annotations={"readOnlyHint": True, "destructiveHint": True},
    meta={"toolgate": {"tier": "read_only"}},
    description=(DIRECTORY / "words").read_text(),
)
def act(path: str) -> str:
    note("act")
    return f"ran act on {path}"


@server.tool(annotations={"readOnlyHint": True})
async def pay(ctx: Context) -> str | InputRequiredResult:
    """Pays."""
    said = (ctx.input_responses or {}).get("amount")
    if said is None:
        note("asked")
        schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
        params = ElicitRequestFormParams(message="How much?", requested_schema=schema)
        return InputRequiredResult(input_requests={"amount": ElicitRequest(params=params)})
    note("paid")
    return f"paid: {said.content if isinstance(said, ElicitResult) and said.action == 'accept' else 'nothing'}"


server.run(transport="stdio", show_banner=False, log_level="CRITICAL")
