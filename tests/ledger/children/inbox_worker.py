"""A worker in a process of its own: it says something and pauses, or picks up what was answered meanwhile.

Reads as JSON where its checkpoints and its ledger are, and what to do; prints as JSON what became of it.
"""

import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.support import ScriptedModel, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, resume_answered, tool_profile

given: dict[str, Any] = json.load(sys.stdin)
ran: list[Any] = []


@tool_profile(tier=Tier.CONSEQUENTIAL)
@tool
def send(to: str) -> str:
    """Send something."""
    ran.append(to)
    return f"sent to {to}"


def turn(messages: list[Any]) -> Any:
    if messages[-1].type == "tool":
        return says(text="done")
    return says(tool_call(name="send", args={"to": str(messages[-1].text)}, id="a"))


ledger = SqlLedger(given["ledger"])
with SqliteSaver.from_conn_string(given["checkpoints"]) as checkpointer:
    gate = ToolGate(ledger=ledger)
    model = ScriptedModel(script=[turn] * 9)
    agent = create_agent(model, [send], middleware=gate.around(), checkpointer=checkpointer)
    for thread in given.get("say", ()):
        agent.invoke({"messages": [HumanMessage(thread)]}, {"configurable": {"thread_id": thread}})
    resumed = [[one.thread_id, one.status] for one in resume_answered(agent)]
ledger.close()
print(json.dumps({"resumed": resumed, "ran": ran}))  # noqa: T201
