"""One step of a conversation with a `GatedAgent` in a process of its own.

Reads as JSON what the agent is given, and prints the session that it comes to, with what ran here.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.messages import AIMessage, ToolCall
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from toolgate_langchain import GatedAgent, SqlLedger, Tier, ToolGate, tool_profile

given: dict[str, Any] = json.load(sys.stdin)
ran: list[str] = []
heard: list[str] = []


@tool_profile(tier=Tier.CONSEQUENTIAL)
@tool
def deploy(to: str) -> str:
    """Deploy."""
    ran.append(to)
    return f"deployed to {to}"


def speak(messages: list[Any]) -> AIMessage:
    if messages[-1].type == "tool":
        return AIMessage("done")
    calls = [ToolCall(name="deploy", args={"to": to}, id=to) for to in ("x", "y")]
    return AIMessage("", tool_calls=calls)


key = bytes.fromhex(given["key"])
ledger = SqlLedger(given["ledger"]) if "ledger" in given else None
agent = GatedAgent(RunnableLambda(speak), [deploy], ToolGate(ledger=ledger), keys=[key])
output = asyncio.run(agent.ainvoke(given["input"])) if given["asynchronous"] else agent.invoke(given["input"])
request, answer = output["request"], output["answer"]
if ledger is not None:
    ledger.close()
print(  # noqa: T201  # the parent reads it
    json.dumps(
        {
            "session": output["session"].to_json(key),
            "request": None if request is None else [request.tool_call_id, request.request_id],
            "answer": None if answer is None else answer.status,
            "ran": ran,
            "results": [message.text for message in output["messages"] if message.type == "tool"],
        }
    )
)
