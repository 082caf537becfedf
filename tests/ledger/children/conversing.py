"""One step of a conversation in a process of its own, on shared files for checkpoints and ledger.

Reads the step as JSON from the first line of its input; before it answers it says "ready" and waits for another line.
Prints as JSON what came of it.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support import Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.hosts.langgraph.driving import pending_requests

step: dict[str, Any] = json.loads(sys.stdin.readline())
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "thread"}}
ran = Recorder()


def build(checkpointer: Any) -> tuple[ToolGate, Any]:
    gate = ToolGate(ledger=SqlLedger(step["ledger"]))
    talk = chat(
        [says(call("send", "a", to="ann"), call("read", "b"))] if step["do"] == "say" else [],
        [
            ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)),
            ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)),
        ],
        gate=gate,
        # One form in all processes: what waits in one is not pending in another.
        middleware=[ToolGateMiddleware(gate)],
        checkpointer=checkpointer,
    )
    return gate, talk.agent


def wait() -> None:
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()


def said(state: Any, result: Any = None) -> None:
    requests = [request.request_id for _, request in pending_requests(state.interrupts)]
    results = [[m.tool_call_id, m.text] for m in state.values["messages"] if isinstance(m, ToolMessage)]
    status = None if result is None else result.status
    print(json.dumps({"pending": requests, "ran": ran.names, "results": results, "status": status}))  # noqa: T201


def main() -> None:
    with SqliteSaver.from_conn_string(step["checkpoints"]) as checkpointer:
        gate, agent = build(checkpointer)
        result = None
        if step["do"] == "say":
            agent.invoke({"messages": [("user", "go")]}, CONFIG)
        elif step["do"] == "answer":
            wait()
            result = gate.answer(agent, CONFIG, step["answer"])
        else:
            # Back to where the answer was taken in and no tool had run, as from a restored backup.
            *_, before = [one for one in agent.get_state_history(CONFIG) if one.next and set(one.next) == {"tools"}]
            agent.invoke(None, before.config)
        said(agent.get_state(CONFIG), result)


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(step["checkpoints"]) as checkpointer:
        gate, agent = build(checkpointer)
        result = None
        if step["do"] == "say":
            await agent.ainvoke({"messages": [("user", "go")]}, CONFIG)
        elif step["do"] == "answer":
            wait()
            result = await gate.aanswer(agent, CONFIG, step["answer"])
        else:
            history = [one async for one in agent.aget_state_history(CONFIG)]
            *_, before = [one for one in history if one.next and set(one.next) == {"tools"}]
            await agent.ainvoke(None, before.config)
        said(await agent.aget_state(CONFIG), result)


asyncio.run(amain()) if step["asynchronous"] else main()
