"""One process of a conversation: builds the agent anew on a shared SQLite file, takes one step, says how it stands.

Reads the step as JSON from its input and prints what happened as JSON: the pending request, the tools that ran in
this process, and how often the heuristic was called in it.
"""

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.messages.tool import tool_call
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.support import Recorder, ScriptedModel, says
from toolgate_langchain import Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.hosts.langgraph.driving import pending_requests

step: dict[str, Any] = json.load(sys.stdin)
ran = Recorder()
heard: list[dict[str, Any]] = []


def approves_small(call: Any, _: Any) -> bool:
    heard.append(call["args"])
    return bool(call["args"].get("n", 0) < 10)


def build(checkpointer: Any) -> Any:
    turns = [
        says(*[tool_call(name=name, args=args, id=call_id) for name, args, call_id in turn]) for turn in step["script"]
    ]
    tools = [ran.tool(name, ToolProfile(tier=Tier.ROUTINE)) for name in ("deploy", "restart")]
    gate = ToolGate(heuristics=[approves_small] if step["heuristic"] else [])
    model = ScriptedModel(script=turns)
    return create_agent(model, tools, middleware=[ToolGateMiddleware(gate)], checkpointer=checkpointer)


def given(requests: list[Any]) -> Any:
    if step["answer"] is None:
        return {"messages": [HumanMessage("go")]}
    return Command(resume={"request_id": requests[0][1].request_id, **step["answer"]})


def said(requests: list[Any]) -> None:
    request = requests[0][1] if requests else None
    pending = (
        None if request is None else {"id": request.request_id, "tool": request.tool_name, "args": request.arguments}
    )
    print(json.dumps({"request": pending, "ran": ran.runs, "heard": heard}))  # noqa: T201


def main() -> None:
    with SqliteSaver.from_conn_string(step["database"]) as checkpointer:
        agent, config = build(checkpointer), {"configurable": {"thread_id": step["thread"]}}
        agent.invoke(given(pending_requests(agent.get_state(config).interrupts)), config)
        said(pending_requests(agent.get_state(config).interrupts))


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(step["database"]) as checkpointer:
        agent, config = build(checkpointer), {"configurable": {"thread_id": step["thread"]}}
        await agent.ainvoke(given(pending_requests((await agent.aget_state(config)).interrupts)), config)
        said(pending_requests((await agent.aget_state(config)).interrupts))


asyncio.run(amain()) if step["asynchronous"] else main()
