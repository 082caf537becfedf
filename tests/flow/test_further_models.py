"""With several models the worst zone counts, and a further one that was not declared counts as external-anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, ScriptedModel
from toolgate_langchain import GatedAgent, ToolGate, ToolGateMiddleware, TrustZone
from toolgate_langchain.errors import ConfigurationError

LOCAL, ANYWHERE = TrustZone.LOCAL, TrustZone.EXTERNAL_ANYWHERE


class Away(ScriptedModel):
    """A model that cannot be reached."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("away")


def plain(gate: ToolGate, other: ModelFallbackMiddleware, zone: Any) -> list[Any]:
    return [other, ToolGateMiddleware(gate, zone=zone)]


def around(gate: ToolGate, other: ModelFallbackMiddleware, zone: Any) -> list[Any]:
    return gate.around([other], zone=zone)


Form = Callable[[ToolGate, ModelFallbackMiddleware, Any], list[Any]]


def agent_with_fallback(form: Form, zone: Any, *, asynchronous: bool) -> tuple[Chat, ScriptedModel]:
    gate, first, second = ToolGate(), Away(script=[]), ScriptedModel(script=[AIMessage("from the second")])
    middleware = form(gate, ModelFallbackMiddleware(second), zone)
    agent = create_agent(first, [], middleware=middleware, checkpointer=InMemorySaver())
    return Chat(agent, second, gate, asynchronous=asynchronous), second


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("form", [plain, around])
@pytest.mark.parametrize("zone", [LOCAL, [LOCAL], lambda _: LOCAL], ids=["one", "a list of one", "a function"])
def test_a_fallback_that_no_zone_was_declared_for_is_not_called(form: Form, zone: Any, asynchronous: bool) -> None:
    chat, second = agent_with_fallback(form, zone, asynchronous=asynchronous)
    with pytest.raises(
        ConfigurationError, match=r"declared for 1 model, and this agent calls 2 \(Away, ScriptedModel\)"
    ):
        chat.say()
    assert second.seen == []


@pytest.mark.parametrize("form", [plain, around])
@pytest.mark.parametrize("zone", [None, ANYWHERE, [LOCAL, LOCAL], [LOCAL, None]])
def test_it_is_called_where_it_was_declared_or_could_be_anywhere_without_a_loss(form: Form, zone: Any) -> None:
    chat, _ = agent_with_fallback(form, zone, asynchronous=False)
    chat.say()
    assert chat.messages[-1].content == "from the second"


def replies(heard: list[str], name: str, fails: bool = False) -> Runnable[LanguageModelInput, BaseMessage]:
    def reply(_: Any) -> BaseMessage:
        heard.append(name)
        if fails:
            raise ConnectionError("away")
        return AIMessage(f"from {name}")

    return RunnableLambda(reply)


def test_what_a_gated_agents_model_falls_back_to_counts_as_well() -> None:
    heard = list[str]()
    model = replies(heard, "the first", fails=True).with_fallbacks([replies(heard, "the second")])
    with pytest.raises(ConfigurationError, match="declared for 1 model, and this agent calls 2"):
        GatedAgent(model, [], ToolGate(), zone=LOCAL).invoke("go")
    assert heard == []
    told = GatedAgent(model, [], ToolGate(), zone=[LOCAL, ANYWHERE]).invoke("go")
    assert told["messages"][-1].text == "from the second"


class Named(ScriptedModel):
    """A model that says what it is and where."""

    model_name: str = "small"
    base_url: str = "http://one.test"


def routed_to(second: Named) -> str:
    """What an agent says whose router gives each call to another object than the agent was made with."""

    class Router(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            handler(request)
            return handler(request.override(model=second))

    gate, first = ToolGate(), Named(script=[AIMessage("from the first")])
    agent = create_agent(first, [], middleware=gate.around([Router()], zone=LOCAL), checkpointer=InMemorySaver())
    chat = Chat(agent, first, gate)
    chat.say()
    return str(chat.messages[-1].content)


def test_one_model_in_two_objects_is_one() -> None:
    assert routed_to(Named(script=[AIMessage("same")])) == "same"


@pytest.mark.parametrize("other", [{"model_name": "large"}, {"base_url": "http://two.test"}])
def test_another_model_or_the_same_in_another_place_is_a_further_one(other: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="declared for 1 model, and this agent calls 2"):
        routed_to(Named(script=[AIMessage("elsewhere")], **other))
