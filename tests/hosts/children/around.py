"""One process of a conversation with `gate.around()`: it says something, or approves all that is pending.

Reads JSON from its input and prints JSON: the calls that are pending, how many were answered, the tools that ran in
this process, and the last message.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile

given: dict[str, Any] = json.load(sys.stdin)
ran = Recorder()


def build(checkpointer: Any) -> Chat:
    first = says(call("send", "a", n=1), call("read", "b"), call("send", "c", n=2))
    tools = [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)), ran.tool("read", ToolProfile(tier=Tier.READ_ONLY))]
    gate = ToolGate()
    script = [first] if given["say"] else []
    return chat(script, tools, gate=gate, middleware=gate.around(), checkpointer=checkpointer)


def approval(state: Any) -> Any:
    return Command(resume={"type": "approve", "request_id": state.interrupts[0].value["toolgate"]["request_id"]})


def tell(state: Any, answered: int) -> None:
    told = {
        "pending": [one.value["tool_call_id"] for one in state.interrupts],
        "answered": answered,
        "ran": ran.names,
        "last": str(state.values["messages"][-1].content),
    }
    print(json.dumps(told))  # noqa: T201


GO = {"messages": [HumanMessage("go")]}


def main() -> None:
    with SqliteSaver.from_conn_string(given["database"]) as checkpointer:
        talk, answered = build(checkpointer), 0
        if given["say"]:
            talk.agent.invoke(GO, talk.config)
        while not given["say"] and talk.agent.get_state(talk.config).interrupts:
            talk.agent.invoke(approval(talk.agent.get_state(talk.config)), talk.config)
            answered += 1
        tell(talk.agent.get_state(talk.config), answered)


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(given["database"]) as checkpointer:
        talk, answered = build(checkpointer), 0
        if given["say"]:
            await talk.agent.ainvoke(GO, talk.config)
        while not given["say"] and (await talk.agent.aget_state(talk.config)).interrupts:
            await talk.agent.ainvoke(approval(await talk.agent.aget_state(talk.config)), talk.config)
            answered += 1
        tell(await talk.agent.aget_state(talk.config), answered)


asyncio.run(amain()) if given["asynchronous"] else main()
