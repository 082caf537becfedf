"""A Runnable like any other: config and callbacks reach the model and the tools, and tracers see them."""

import asyncio
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_core.tracers import Run
from langchain_core.tracers.base import BaseTracer

from tests.agent.talking import CONSEQUENTIAL, READ
from tests.support import Recorder, ScriptedModel, call, says, with_profile
from toolgate_langchain import ApprovalSession, GatedAgent, ToolGate


class Traces(BaseTracer):
    """Keeps the trees of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.trees: list[Any] = []

    def _persist_run(self, run: Run) -> None:
        self.trees.append(shape(run))


def shape(run: Run) -> Any:
    children = [shape(child) for child in run.child_runs]
    return (run.name, run.run_type, children) if children else (run.name, run.run_type)


def agent(ran: Recorder, **options: Any) -> GatedAgent:
    model = ScriptedModel(script=[says(call("list", "a"), call("deploy", "b"))])
    return GatedAgent(model, [ran.tool("list", READ), ran.tool("deploy", CONSEQUENTIAL)], **options)


def approval(output: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "approve", "request_id": output["request"].request_id}


FIRST = ("GatedAgent", "chain", [("ScriptedModel", "llm")])
SECOND = ("GatedAgent", "chain", [("list", "tool"), ("deploy", "tool"), ("ScriptedModel", "llm")])


def test_tracers_see_the_models_and_tools_as_its_children(ran: Recorder) -> None:
    traces, made = Traces(), agent(ran)
    config: RunnableConfig = {"callbacks": [traces]}
    output = made.invoke("go", config)
    made.resume(output["session"], approval(output), config)
    assert traces.trees == [FIRST, SECOND]


async def test_asynchronously_too(ran: Recorder) -> None:
    traces, made = Traces(), agent(ran)
    config: RunnableConfig = {"callbacks": [traces]}
    output = await made.ainvoke("go", config)
    await made.aresume(output["session"], approval(output), config)
    first, (name, kind, (*tools, last)) = traces.trees
    # Tools that are awaited beside each other are heard of in whichever order.
    second = (name, kind, [*sorted(tools, reverse=True), last])
    assert [first, second] == [FIRST, SECOND]


def test_a_stream_is_one_run_and_gives_messages_as_they_come(ran: Recorder) -> None:
    traces, made = Traces(), agent(ran, name="shop")
    parts = list(made.stream("go", {"callbacks": [traces]}))
    assert [[message.type for message in part["messages"]] for part in parts] == [["ai"], []]
    last = parts[-1]
    assert last["request"] is not None and ran.runs == []
    rest = list(made.stream({"session": last["session"], "answer": approval(last)}))
    assert [[message.type for message in part["messages"]] for part in rest] == [["tool", "tool"], ["ai"], []]
    assert rest[-1]["request"] is None and rest[-1]["session"].status == "done"
    assert traces.trees == [("shop", "chain", [("ScriptedModel", "llm")])]


async def test_a_stream_asynchronously(ran: Recorder) -> None:
    made = agent(ran)
    parts = [part async for part in made.astream("go")]
    assert [[message.type for message in part["messages"]] for part in parts] == [["ai"], []]
    resumed = made.astream({"session": parts[-1]["session"], "answer": approval(parts[-1])})
    rest = [part async for part in resumed]
    assert [[message.type for message in part["messages"]] for part in rest] == [["tool", "tool"], ["ai"], []]


def test_a_stream_that_is_left_early_gives_its_claim_back(ran: Recorder) -> None:
    made = agent(ran)
    output = made.invoke("go")
    stream = made.stream({"session": output["session"], "answer": approval(output)})
    assert [message.type for message in next(stream)["messages"]] == ["tool", "tool"]
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert ran.names == ["list", "deploy"]
    assert output["request"] is not None and made.gate.ledger.claim(output["request"].request_id) is True


async def test_events_tell_of_the_tokens_of_the_model(ran: Recorder) -> None:
    kinds = [event["event"] async for event in agent(ran).astream_events("go", version="v2")]
    assert kinds[0] == "on_chain_start" and "on_chat_model_end" in kinds and kinds[-1] == "on_chain_end"


def test_the_config_reaches_model_and_tools(ran: Recorder) -> None:
    seen: list[Any] = []

    @tool
    def look(config: RunnableConfig) -> str:
        """Look."""
        seen.append((config["configurable"]["user"], config["tags"], config["metadata"]["of"]))
        return "seen"

    class Starts(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, **about: Any) -> None:
            seen.append((about["tags"], about["metadata"]["of"]))

    made = GatedAgent(ScriptedModel(script=[says(call("look", "a"))]), [with_profile(look, READ)])
    made.invoke(
        "go", {"tags": ["mine"], "metadata": {"of": "a test"}, "configurable": {"user": "ann"}, "callbacks": [Starts()]}
    )
    assert seen == [(["mine"], "a test"), ("ann", ["mine"], "a test"), (["mine"], "a test")]


def test_it_is_a_part_of_a_chain_and_has_schemas(ran: Recorder) -> None:
    chain = agent(ran, surface="cron") | itemgetter("messages") | (lambda messages: messages[-1].text)
    assert chain.invoke("go") == "done"
    made = agent(ran).with_config(run_name="named")
    assert made.batch(["go", "go"])[1]["session"].agent == "GatedAgent"
    assert agent(ran).get_input_jsonschema()["anyOf"]
    assert agent(ran).get_name() == "GatedAgent"


def test_several_conversations_at_once_do_not_mix(ran: Recorder) -> None:
    def speak(messages: list[Any]) -> AIMessage:
        return AIMessage("done") if messages[-1].type == "tool" else says(call("save", "a", n=str(messages[0].text)))

    made = GatedAgent(ScriptedModel(script=[speak] * 100), [ran.tool("save", READ)])

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(made.ainvoke(str(n)) for n in range(20)))

    outputs = asyncio.run(all_of_them())
    assert [output["messages"][0].text for output in outputs] == [str(n) for n in range(20)]
    assert sorted(ran.runs, key=lambda one: int(one[1]["n"])) == [("save", {"n": str(n)}) for n in range(20)]


def test_what_is_kept_after_every_step_goes_on_from_there(ran: Recorder) -> None:
    kept: list[ApprovalSession] = []
    made = agent(ran, keep=kept.append, surface="cron")
    made.invoke("go")
    assert [session.status for session in kept] == ["open", "open", "done"]
    again = agent(Recorder(), surface="cron").resume(kept[1])
    assert again["messages"][-1].text == "done" and again["session"].status == "done"


async def test_keeping_may_be_asynchronous(ran: Recorder) -> None:
    kept: list[ApprovalSession] = []

    async def keep(session: ApprovalSession) -> None:
        await asyncio.sleep(0)
        kept.append(session)

    await agent(ran, keep=keep).ainvoke("go")
    assert [session.status for session in kept] == ["open", "waiting"]


def test_an_agent_inside_of_a_tool_shares_the_run_of_the_agent_around_it(ran: Recorder) -> None:
    gate = ToolGate()
    inner = GatedAgent(
        ScriptedModel(script=[says(call("list", "i")), AIMessage("inside")]),
        [ran.tool("list", READ)],
        gate,
        name="inner",
    )
    paths: list[Any] = []

    @tool
    def delegate(config: RunnableConfig) -> str:
        """Ask another agent."""
        output = inner.invoke("go", {"callbacks": config["callbacks"]})
        paths.append((output["session"].run["id"], output["session"].run["agent_path"]))
        return output["messages"][-1].text

    outer = GatedAgent(ScriptedModel(script=[says(call("delegate", "o"))]), [with_profile(delegate, READ)], gate)
    output = outer.invoke("go")
    assert paths == [(output["session"].run["id"], ["delegate", "inner"])]
    assert output["messages"][2].text == "inside" and ran.names == ["list"]


@pytest.mark.parametrize("first", [True, False])
def test_the_same_session_resumed_by_two_at_once_runs_the_tool_once(ran: Recorder, first: bool) -> None:
    made = agent(ran)
    output = made.invoke("go")

    async def both() -> list[str]:
        given = {"session": output["session"], "answer": approval(output)}
        done = await asyncio.gather(made.ainvoke(given), made.ainvoke(given))
        return sorted(one["answer"].status for one in (done if first else reversed(done)) if one["answer"])

    assert asyncio.run(both()) == ["accepted", "already_answered"]
    assert ran.count("deploy") == 1
