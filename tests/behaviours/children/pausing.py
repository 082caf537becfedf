"""Some steps of a conversation in one process: each says something, answers what is pending, or goes on.

Reads the steps as JSON from its input, drives an agent on a shared SQLite file, and prints as JSON what is pending
after each step, which tools ran in this process, and the results that the conversation holds.
"""

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.support import ScriptedModel, says
from toolgate_langchain import Tier, ToolGate, ToolGateMiddleware, tool_profile
from toolgate_langchain.hosts.langgraph.driving import pending_requests

given: dict[str, Any] = json.load(sys.stdin)
ran: list[Any] = []
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@tool_profile(tier=Tier.ROUTINE)
@tool
def save(number: int, note: str = "none") -> str:
    """Save a number."""
    ran.append(["save", {"number": number, "note": note}])
    return f"saved {number}"


@tool_profile(tier=Tier.ROUTINE, input_schema=FORM)
@tool
def travel(city: str, note: str = "none") -> str:
    """Go to a city."""
    ran.append(["travel", {"city": city, "note": note}])
    return f"went to {city}"


@tool_profile(tier=Tier.READ_ONLY)
@tool
def look() -> str:
    """Look around."""
    ran.append(["look", {}])
    return "looked"


def build(checkpointer: Any) -> tuple[ToolGate, Any]:
    turns = [says(*[tool_call(name=name, args=args, id=i) for i, name, args in turn]) for turn in given["script"]]
    # The model goes on where the conversation stands, also in a process that begins in its middle.
    model = ScriptedModel(script=[lambda messages, n=n: turn_of(turns, messages) for n in range(len(turns) + 1)])
    gate = ToolGate()
    agent = create_agent(model, [save, travel, look], middleware=[ToolGateMiddleware(gate)], checkpointer=checkpointer)
    return gate, agent


def turn_of(turns: list[Any], messages: list[Any]) -> Any:
    said = sum(1 for message in messages if message.type == "ai")
    return turns[said] if said < len(turns) else says(text="done")


CONFIG = {"configurable": {"thread_id": "thread"}}


def addressed(answer: dict[str, Any], interrupts: Any, known: dict[str, str]) -> dict[str, Any]:
    """The answer to the pending request, or to the request of an earlier call that it names."""
    for _, request in pending_requests(interrupts):
        known[request.tool_call_id] = request.request_id
    (pending,) = [request.tool_call_id for _, request in pending_requests(interrupts)]
    call_id = answer.pop("to", pending)
    return {**answer, "request_id": known[call_id]}


def stands(state: Any) -> dict[str, Any]:
    requests = [request for _, request in pending_requests(state.interrupts)]
    return {
        "pending": [
            {
                "call": request.tool_call_id,
                "arguments": request.arguments,
                "fields": None if request.input_schema is None else list(request.input_schema["properties"]),
                "allowed": request.allowed,
                "error": request.error,
            }
            for request in requests
        ],
        "results": [[m.tool_call_id, m.text] for m in state.values["messages"] if isinstance(m, ToolMessage)],
    }


def report(stood: list[Any], known: dict[str, str]) -> None:
    print(json.dumps({"stood": stood, "ran": ran, "known": known}))  # noqa: T201


def main() -> None:
    with SqliteSaver.from_conn_string(given["database"]) as checkpointer:
        gate, agent = build(checkpointer)
        stood, known = [], dict(given["known"])
        for step in given["steps"]:
            interrupts = agent.get_state(CONFIG).interrupts
            if "say" in step:
                agent.invoke({"messages": [HumanMessage(step["say"])]}, CONFIG)
            elif step.pop("through", "gate") == "resume":
                agent.invoke(Command(resume=addressed(step, interrupts, known)), CONFIG)
            else:
                gate.answer(agent, CONFIG, addressed(step, interrupts, known))
            state = agent.get_state(CONFIG)
            stood.append(stands(state))
        report(stood, known)


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(given["database"]) as checkpointer:
        gate, agent = build(checkpointer)
        stood, known = [], dict(given["known"])
        for step in given["steps"]:
            interrupts = (await agent.aget_state(CONFIG)).interrupts
            if "say" in step:
                await agent.ainvoke({"messages": [HumanMessage(step["say"])]}, CONFIG)
            elif step.pop("through", "gate") == "resume":
                await agent.ainvoke(Command(resume=addressed(step, interrupts, known)), CONFIG)
            else:
                await gate.aanswer(agent, CONFIG, addressed(step, interrupts, known))
            stood.append(stands(await agent.aget_state(CONFIG)))
        report(stood, known)


asyncio.run(amain()) if given["asynchronous"] else main()
