"""One step of a conversation with a `GatedAgent` in a tool of an agent of LangGraph, in a process of its own.

Reads as JSON `database`, `answer` and `asynchronous`; prints what is pending, what ran here, how many turns the inner
model made here, and the results.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.agent.inside import as_tool, makes
from tests.agent.talking import CONSEQUENTIAL
from tests.support import Recorder, call, chat, says
from toolgate_langchain import GatedAgent, SqlLedger, ToolGate
from toolgate_langchain.hosts.langgraph.driving import pending_requests

given: dict[str, Any] = json.load(sys.stdin)
ran = Recorder()
CONFIG: Any = {"configurable": {"thread_id": "thread"}}
inner = makes(call("rm", "r", x=1), call("rm", "s", x=2))
ledger = SqlLedger(f"sqlite:///{given['database']}.ledger")
gate = ToolGate(ledger=ledger)


def rm(x: int) -> str:
    """Remove something."""
    ran.runs.append(("rm", {"x": x}))
    return f"ran {x}"


def root(messages: list[Any]) -> AIMessage:
    return AIMessage("done") if isinstance(messages[-1], ToolMessage) else says(call("helper", "h"))


def build(checkpointer: Any) -> Any:
    from langchain_core.tools import StructuredTool

    from tests.support import with_profile

    tool = with_profile(StructuredTool.from_function(rm), CONSEQUENTIAL)
    agent = GatedAgent(inner, [tool], gate, name="cleaner")
    return chat([root] * 5, [as_tool(agent)], gate=gate, checkpointer=checkpointer).agent


def report(state: Any) -> None:
    pending = [request for _, request in pending_requests(state.interrupts)]
    said = {
        "pending": [[one.request_id, one.tool_call_id, list(one.agent_path)] for one in pending],
        "ran": [arguments["x"] for _, arguments in ran.runs],
        "turns": len(inner.seen),
        "results": {m.tool_call_id: m.text for m in state.values["messages"] if isinstance(m, ToolMessage)},
    }
    print(json.dumps(said))  # noqa: T201  # the parent reads it


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(given["database"]) as checkpointer:
        agent = build(checkpointer)
        if given["answer"] is None:
            await agent.ainvoke({"messages": [HumanMessage("go")]}, CONFIG)
        else:
            await gate.aanswer(agent, CONFIG, given["answer"])
        report(await agent.aget_state(CONFIG))


def main() -> None:
    with SqliteSaver.from_conn_string(given["database"]) as checkpointer:
        agent = build(checkpointer)
        if given["answer"] is None:
            agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
        else:
            gate.answer(agent, CONFIG, given["answer"])
        report(agent.get_state(CONFIG))


asyncio.run(amain()) if given["asynchronous"] else main()
ledger.close()
