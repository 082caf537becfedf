"""One step of a conversation with agents two deep, in a process of its own on a shared SQLite file.

Reads as JSON what to say or answer and what the agents' settings are in this process, and prints what is pending,
which tools ran here, and the results that the conversation holds.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.subagents.support import DANGEROUS, as_tool, inner, makes
from tests.support import Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import RunConfiguration, SqlLedger, Surface, ToolGate, Verdict
from toolgate_langchain.hosts.langgraph.driving import pending_requests

given: dict[str, Any] = json.load(sys.stdin)
ran = Recorder()
CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def build(checkpointer: Any) -> tuple[ToolGate, Any]:
    open_one = Surface("open", routine=Verdict.ALLOW, consequential=Verdict.ALLOW)
    gate = ToolGate(surfaces=[Surface("chat"), open_one], ledger=SqlLedger(f"sqlite:///{given['database']}.ledger"))
    calls = makes(call("rm", "first", x=1), call("rm", "second", x=2))
    cleaner = inner(gate, calls, [ran.tool("rm", DANGEROUS)], name="cleaner", options=given["child"])
    planner = inner(gate, makes(call("clean", "c")), [as_tool(cleaner, "clean")], name="planner")
    tools = given["tools"]
    configuration = None if tools is None else RunConfiguration(tools=tuple(tools))

    def root(messages: list[Any]) -> AIMessage:
        return AIMessage("done") if isinstance(messages[-1], ToolMessage) else says(call("plan", "p"))

    script: list[Any] = [root] * 5
    helper = as_tool(planner, "plan", DANGEROUS)
    talk = chat(script, [helper], gate=gate, checkpointer=checkpointer, configuration=configuration)
    assert isinstance(talk.model, ScriptedModel)
    return gate, talk.agent


def report(state: Any) -> None:
    pending = [request for _, request in pending_requests(state.interrupts)]
    results = {m.tool_call_id: str(m.content) for m in state.values["messages"] if isinstance(m, ToolMessage)}
    said = {
        "pending": [[one.request_id, one.tool_call_id, list(one.agent_path), one.surface] for one in pending],
        "ran": [arguments["x"] for _, arguments in ran.runs],
        "results": results,
    }
    print(json.dumps(said))  # noqa: T201


def main() -> None:
    with SqliteSaver.from_conn_string(given["database"]) as checkpointer:
        gate, agent = build(checkpointer)
        if given["answer"] is None:
            agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
        elif given["bare"]:
            agent.invoke(Command(resume=given["answer"]), CONFIG)
        else:
            gate.answer(agent, CONFIG, given["answer"])
        report(agent.get_state(CONFIG))


async def amain() -> None:
    async with AsyncSqliteSaver.from_conn_string(given["database"]) as checkpointer:
        gate, agent = build(checkpointer)
        if given["answer"] is None:
            await agent.ainvoke({"messages": [HumanMessage("go")]}, CONFIG)
        elif given["bare"]:
            await agent.ainvoke(Command(resume=given["answer"]), CONFIG)
        else:
            await gate.aanswer(agent, CONFIG, given["answer"])
        report(await agent.aget_state(CONFIG))


asyncio.run(amain()) if given["asynchronous"] else main()
