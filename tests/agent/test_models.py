"""What may stand where the model does: a chat model, a bound one, a chain, anything that gives an `AIMessage`."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolCallChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableBinding, RunnableLambda
from langchain_openai import ChatOpenAI

from tests.agent.talking import CONSEQUENTIAL, READ, ROUTINE
from tests.support import Recorder, ScriptedModel, call, says
from toolgate_langchain import GatedAgent, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError, ToolGateWarning
from toolgate_langchain.hosts.gated.model import with_tools


def openai(**settings: Any) -> ChatOpenAI:
    """A real model that is never called."""
    return ChatOpenAI(**{"model": "none", "api_key": "none", "base_url": "http://localhost:9/v1", **settings})


def as_values(messages: list[Any]) -> dict[str, Any]:
    return {"messages": messages}


def names(model: Any) -> list[str]:
    """The tools that a model would be called with."""
    assert isinstance(model, RunnableBinding)
    return [tool["function"]["name"] for tool in model.kwargs.get("tools", [])]


def test_a_chat_model_is_given_what_is_offered(ran: Recorder) -> None:
    assert names(with_tools(openai(), [ran.tool("list")])) == ["list"]
    model = openai()
    assert with_tools(model, []) is model


def test_a_model_that_was_given_tools_keeps_those_that_are_offered(ran: Recorder) -> None:
    tools = [ran.tool("list"), ran.tool("save")]
    bound = openai().bind_tools(tools, tool_choice="save", parallel_tool_calls=False)
    narrowed: Any = with_tools(bound, tools[:1])
    assert names(narrowed) == ["list"] and "tool_choice" not in narrowed.kwargs
    kept: Any = with_tools(bound, tools[1:])
    assert names(kept) == ["save"] and kept.kwargs["tool_choice"]["function"]["name"] == "save"
    bare: Any = with_tools(bound, [])
    assert set(bare.kwargs).isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})
    assert names(bound) == ["list", "save"]  # the caller's own model is left as it was


def test_settings_fallbacks_and_retries_around_a_model_stay(ran: Recorder) -> None:
    list_tool = ran.tool("list")
    settings: Any = with_tools(openai().bind(stop=["x"]), [list_tool])
    assert settings.kwargs == {"stop": ["x"]} and names(settings.bound) == ["list"]
    fallbacks: Any = with_tools(openai().with_fallbacks([openai()]), [list_tool])
    assert [names(one) for one in fallbacks.runnables] == [["list"], ["list"]]
    retried: Any = with_tools(openai().with_retry(stop_after_attempt=2), [list_tool])
    assert retried.max_attempt_number == 2 and names(retried.bound) == ["list"]


def test_in_a_chain_the_last_model_is_given_them(ran: Recorder) -> None:
    prompt = ChatPromptTemplate.from_messages([("placeholder", "{messages}")])
    chain: Any = with_tools(RunnableLambda(as_values) | prompt | openai(), [ran.tool("list")])
    assert names(chain.steps[-1]) == ["list"] and len(chain.steps) == 3


@pytest.mark.parametrize("kind", ["bound", "bound in a chain", "bound beside another", "in the model's own settings"])
def test_a_model_with_tools_that_the_agent_does_not_have_is_refused(kind: str, ran: Recorder) -> None:
    bound = openai().bind_tools([ran.tool("hidden")])
    models: dict[str, Runnable[Any, Any]] = {
        "bound": bound,
        "bound in a chain": RunnableLambda(list) | bound,
        "bound beside another": openai().with_fallbacks([bound]),
        "in the model's own settings": openai(model_kwargs={"tools": [{"type": "web_search"}]}),
    }
    with pytest.raises(ConfigurationError, match="given tools that the agent does not have"):
        GatedAgent(models[kind], [ran.tool("list")])


def test_a_providers_own_tool_is_offered_where_its_profile_lets_it(ran: Recorder) -> None:
    search = {"type": "web_search"}
    model = ScriptedModel()
    with pytest.warns(ToolGateWarning, match="'web_search' is not offered"):
        GatedAgent(model, [search, ran.tool("list", READ)]).invoke("go")
    gate = ToolGate()
    gate.catalog.register_provider_tool("web_search", ToolProfile(tier=READ.tier))
    GatedAgent(model, [search, ran.tool("list", READ)], gate).invoke("go")
    assert model.offered == [["list"], ["web_search", "list"]]


async def test_any_runnable_that_gives_a_message_is_gated(ran: Recorder) -> None:
    def speak(messages: list[Any]) -> AIMessage:
        return AIMessage("done") if len(messages) > 1 else says(call("list", "a"), call("deploy", "b"))

    tools = [ran.tool("list", READ), ran.tool("deploy", CONSEQUENTIAL)]
    agent = GatedAgent(RunnableLambda(speak), tools)
    output = agent.invoke("go")
    assert output["request"] is not None and output["request"].tool_name == "deploy" and ran.runs == []
    cron = GatedAgent(RunnableLambda(speak), tools, surface="cron")
    assert (await cron.ainvoke("go"))["request"] is None and ran.names == ["list"]


def test_a_chain_whose_prompt_takes_the_messages(ran: Recorder) -> None:
    model = ScriptedModel(script=[says(call("list", "a"))])
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("placeholder", "{messages}")])
    chain = RunnableLambda(as_values) | prompt | model
    output = GatedAgent(chain, [ran.tool("list", READ), ran.tool("save", ROUTINE)]).invoke("go")
    assert [message.type for message in output["messages"]] == ["human", "ai", "tool", "ai"]
    assert [message.type for message in model.seen[1]] == ["system", "human", "ai", "tool"]
    assert model.offered == [["list", "save"]]


def test_a_message_that_came_in_pieces_is_kept_as_a_whole(ran: Recorder) -> None:
    piece = AIMessageChunk(
        content="", tool_call_chunks=[ToolCallChunk(name="list", args="{}", id="a", index=0, type="tool_call_chunk")]
    )
    replies = iter([piece, AIMessageChunk(content="done")])
    output = GatedAgent(RunnableLambda(lambda _: next(replies)), [ran.tool("list", READ)]).invoke("go")
    assert ran.names == ["list"] and [type(message) for message in output["messages"][1::2]] == [AIMessage, AIMessage]


def test_a_chain_that_ends_with_a_parser_is_an_error(ran: Recorder) -> None:
    with pytest.raises(ConfigurationError, match="which is not an AIMessage; a chain must end with its model"):
        GatedAgent(ScriptedModel() | StrOutputParser()).invoke("go")


@pytest.mark.parametrize("wrong", [{"model": "gpt"}, {"gate": "gate"}, {"on_approval": "ask"}, {"keep": 5}], ids=str)
def test_what_cannot_work_fails_when_built(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=name):
        GatedAgent(**{"model": ScriptedModel(), **wrong})


def test_what_is_no_message_list_goes_no_further(ran: Recorder) -> None:
    assert GatedAgent(ScriptedModel()).invoke({"messages": [("user", "hi")]})["messages"][0].text == "hi"
    assert GatedAgent(ScriptedModel()).invoke(ChatPromptTemplate.from_template("hi").invoke({}))["request"] is None
