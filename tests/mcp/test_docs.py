"""The code of the page on MCP runs as it stands, against a real server."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

from langchain_core.messages import ToolMessage

from tests.mcp.servers import Servers, tool
from tests.mcp.test_elicitation import ten
from tests.support import ScriptedModel, call, says
from toolgate_langchain import ToolCatalog

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def test_the_pages_code_runs_and_does_what_it_says(servers: Servers) -> None:
    servers.lists("files", tool("read_file"), tool("delete_file"))
    model = ScriptedModel(script=[says(call("read_file", "r", path="x")), says(call("delete_file", "d", path="x"))])
    names: dict[str, Any] = {"connections": {"files": servers.http("files")}, "model": model, "ask_in_my_window": ten}
    for block in BLOCKS:
        code = compile(block, "mcp.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        waiting = eval(code, names)
        if inspect.isawaitable(waiting):
            await waiting
    assert names["refused"] == ()
    config = {"configurable": {"thread_id": "t"}}
    await names["agent"].ainvoke({"messages": [("user", "go")]}, config)
    state = names["agent"].get_state(config)
    assert [one.name for one in state.values["messages"] if isinstance(one, ToolMessage)] == ["read_file"]
    assert state.interrupts[0].value["action_requests"][0]["name"] == "delete_file"
    assert servers.calls("files") == [["read_file", {"path": "x"}]]
    pinned = await ToolCatalog.afrom_mcp(names["client"], [names["pinned"]])
    assert pinned.entries()[0].declared is False
    servers.lists("files", tool("read_file", "Reads something else."))
    changed = await ToolCatalog.afrom_mcp(names["client"], [names["pinned"]])
    assert changed.entries()[0].declared is None
