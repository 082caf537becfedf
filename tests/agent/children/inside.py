"""One step of a conversation with agents in agents' tools, in a process of its own.

Reads as JSON `input` for the root agent, `asynchronous` and perhaps `key` (hex) for its sessions; prints what
is asked (call, request, path), what ran, the results, and the session.
"""

import asyncio
import json
import sys
from typing import Any

from tests.agent.inside import as_tool, makes
from tests.support import ScriptedModel, call, says
from toolgate_langchain import GatedAgent, Tier, ToolGate, ToolProfile, tool_profile

given = json.load(sys.stdin)
keys = [bytes.fromhex(given["key"])] if "key" in given else []
ran: list[int] = []


@tool_profile(tier=Tier.CONSEQUENTIAL)
def rm(x: int) -> str:
    """Remove something."""
    ran.append(x)
    return f"ran {x}"


gate = ToolGate()
cleaner = GatedAgent(makes(call("rm", "r", x=1), call("rm", "s", x=2)), [rm], gate, name="cleaner", keys=keys)
planner = GatedAgent(makes(call("clean", "c")), [as_tool(cleaner, "clean")], gate, name="planner")
helper = as_tool(planner, "plan", ToolProfile(tier=Tier.READ_ONLY))
root = GatedAgent(ScriptedModel(script=[says(call("plan", "p"))] * (given["input"].get("session") is None)), [helper],
                  gate, keys=keys)  # fmt: skip
output: Any = asyncio.run(root.ainvoke(given["input"])) if given["asynchronous"] else root.invoke(given["input"])
request = output["request"]
print(  # noqa: T201  # the parent reads it
    json.dumps(
        {
            "request": request and [request.tool_call_id, request.request_id, request.agent_path],
            "ran": ran,
            "results": [message.text for message in output["messages"] if message.type == "tool"],
            "session": output["session"].to_json(*keys),
        }
    )
)
