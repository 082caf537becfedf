"""The gate with the other features of `create_agent`: direct results, structured output, provider-side tools."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import (
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
)
from toolgate_langchain.errors import ConfigurationError, MissingCheckpointerError, ToolGateWarning

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


class Weather(BaseModel):
    """A forecast."""

    city: str


def direct(ran: Recorder, name: str, profile: ToolProfile, **more: Any) -> Any:
    return ran.tool(name, profile, **more).model_copy(update={"return_direct": True})


class TestDirectResults:
    """A tool with `return_direct` ends the run with its result, but not with its refusal."""

    def test_the_model_hears_of_a_rejection(self) -> None:
        ran = Recorder()
        talk = chat([says(call("send", "x")), AIMessage("understood")], [direct(ran, "send", SEND)])
        talk.say()
        talk.answer("reject", message="not today")
        assert ran.names == []
        assert talk.messages[-1].content == "understood"
        assert "not today" in talk.result("x")

    def test_the_model_hears_of_arguments_that_do_not_fit(self) -> None:
        ran = Recorder()
        schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
        talk = chat([says(call("send", "x")), AIMessage("I see")], [direct(ran, "send", SEND, schema=schema)])
        talk.say()
        assert talk.messages[-1].content == "I see"
        assert "'to' is a required property" in talk.result("x")

    def test_an_approved_call_ends_the_run(self) -> None:
        ran = Recorder()
        talk = chat([says(call("send", "x"))], [direct(ran, "send", SEND)])
        talk.say()
        talk.answer("approve")
        assert talk.messages[-1].content == "ran send"


class TestStructuredOutput:
    """The pseudo-calls that carry structured output are not tool calls."""

    def test_structured_output_passes_without_a_question(self) -> None:
        ran = Recorder()
        talk = chat(
            [says(call("Weather", "w", city="Berlin"))],
            [ran.tool("send", SEND)],
            agent={"response_format": ToolStrategy(Weather)},
        )
        assert talk.say()["structured_response"] == Weather(city="Berlin")
        assert talk.requests == []

    def test_a_real_call_before_it_is_asked_about(self) -> None:
        ran = Recorder()
        talk = chat(
            [says(call("send", "s")), says(call("Weather", "w", city="Berlin"))],
            [ran.tool("send", SEND)],
            agent={"response_format": ToolStrategy(Weather)},
        )
        talk.say()
        assert talk.request.tool_name == "send"
        assert talk.answer("approve")["structured_response"] == Weather(city="Berlin")
        assert ran.names == ["send"]


class TestProviderSideTools:
    """Tools that the provider runs are gated where they are offered, because no call of them is ever seen."""

    @staticmethod
    def agent(gate: ToolGate, *, surface: str = "chat") -> tuple[Any, ScriptedModel]:
        model = ScriptedModel()
        tools: list[Any] = [{"type": "web_search"}]
        middleware = [ToolGateMiddleware(gate, surface=surface)]
        return create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver()), model

    @staticmethod
    def run(agent: Any) -> None:
        agent.invoke({"messages": [HumanMessage("hi")]}, {"configurable": {"thread_id": "t"}})

    def test_one_that_would_be_asked_about_is_not_offered_and_a_warning_says_so(self) -> None:
        agent, model = self.agent(ToolGate())
        with pytest.warns(ToolGateWarning, match="'web_search' is not offered"):
            self.run(agent)
        assert model.offered == []

    def test_one_that_is_classified_as_allowed_is_offered(self) -> None:
        catalog = ToolCatalog()
        catalog.register_provider_tool("web_search", READ)
        agent, model = self.agent(ToolGate(catalog))
        self.run(agent)
        assert model.offered == [["web_search"]]


class TestUnattended:
    """Where nobody is there the unattended set is offered, nothing suspends, and refusals are loud."""

    @staticmethod
    def cron(ran: Recorder, script: list[Any], *tools: Any, **options: Any) -> Chat:
        return chat(script, list(tools), surface="cron", **options)

    def test_only_the_unattended_set_is_offered(self) -> None:
        ran = Recorder()
        marked = ran.tool("marked", ToolProfile(tier=Tier.READ_ONLY, requires_approval=True))
        talk = self.cron(ran, [], ran.tool("read", READ), ran.tool("write", ROUTINE), ran.tool("send", SEND), marked)
        talk.say()
        assert talk.model.offered == [["read"]]

    def test_a_call_that_would_need_a_person_is_refused_loudly(self, caplog: pytest.LogCaptureFixture) -> None:
        ran = Recorder()
        marked = ran.tool("marked", ToolProfile(tier=Tier.READ_ONLY, requires_approval=True))
        talk = self.cron(ran, [says(call("marked", "m"), call("read", "r"))], ran.tool("read", READ), marked)
        talk.say()
        assert ran.names == ["read"]
        assert "nobody is there" in talk.result("m")
        assert "refused 'marked' on surface 'cron'" in caplog.text

    def test_an_interrupt_inside_a_tool_becomes_an_error_result(self, caplog: pytest.LogCaptureFixture) -> None:
        ran = Recorder()
        read = ran.tool("read", READ)

        def asks(**_: Any) -> str:
            return str(interrupt("which one?"))

        read.func = asks
        talk = self.cron(ran, [says(call("read", "r"))], read)
        talk.say()
        assert talk.requests == []
        assert "began and did not end" in talk.result("r") and "nobody is there" in talk.result("r")
        assert "wanted to pause" in caplog.text

    def test_it_runs_without_a_checkpointer(self) -> None:
        ran = Recorder()
        model = ScriptedModel(script=[says(call("read", "r"))])
        agent = create_agent(model, [ran.tool("read", READ)], middleware=[ToolGateMiddleware(surface="cron")])
        agent.invoke({"messages": [HumanMessage("go")]})
        assert ran.names == ["read"]

    def test_no_asking_step_is_part_of_its_graph(self) -> None:
        ran = Recorder()
        talk = self.cron(ran, [], ran.tool("read", READ))
        assert not any("after_model" in node for node in talk.agent.nodes)


class TestBuilding:
    """What is wrong is said when the agent is built, or before its first model call."""

    def test_an_unknown_surface_is_named_with_the_known_ones(self) -> None:
        with pytest.raises(ConfigurationError, match="unknown surface 'kiosk'; known: 'chat', 'cli', 'cron'"):
            ToolGateMiddleware(surface="kiosk")

    def test_an_unknown_group_is_named_with_the_known_ones(self) -> None:
        ran = Recorder()
        catalog = ToolCatalog.from_tools([ran.tool("send", ToolProfile(groups=frozenset({"mail"})))])
        with pytest.raises(ConfigurationError, match="'post', which no tool is in; known groups: 'mail'"):
            ToolGateMiddleware(ToolGate(catalog), configuration=RunConfiguration(groups=frozenset({"post"})))

    def test_an_attended_agent_without_a_checkpointer_fails_before_the_model_is_called(self) -> None:
        ran = Recorder()
        model = ScriptedModel()
        agent = create_agent(model, [ran.tool("send", SEND)], middleware=[ToolGateMiddleware()])
        with pytest.raises(MissingCheckpointerError, match="checkpointer=InMemorySaver"):
            agent.invoke({"messages": [HumanMessage("go")]})
        assert model.seen == []

    def test_where_nothing_can_be_asked_there_is_no_asking_step_and_no_need_for_a_checkpointer(self) -> None:
        ran = Recorder()
        read = ran.tool("read", READ)
        gate = ToolGate(ToolCatalog.from_tools([read], closed=True))
        model = ScriptedModel(script=[says(call("read", "r"))])
        agent = create_agent(model, [read], middleware=[ToolGateMiddleware(gate)])
        assert not any("after_model" in node for node in agent.nodes)
        agent.invoke({"messages": [HumanMessage("go")]})
        assert ran.names == ["read"]

    def test_a_surface_may_be_a_function_of_the_runtime(self) -> None:
        ran = Recorder()
        gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
        model = ScriptedModel(script=[says(call("send", "x"))])
        middleware = [ToolGateMiddleware(gate, surface=lambda runtime: runtime.context["surface"])]
        agent = create_agent(
            model, [ran.tool("send", SEND)], middleware=middleware, checkpointer=InMemorySaver(), context_schema=dict
        )
        config: Any = {"configurable": {"thread_id": "t"}}
        agent.invoke({"messages": [HumanMessage("go")]}, config, context={"surface": "cron"})
        assert ran.names == []
        assert agent.get_state(config).interrupts == ()
        assert model.offered == []


class TestUnreadableCalls:
    """Calls that nobody could parse go back to the model with the error."""

    @staticmethod
    def unreadable(call_id: str) -> AIMessage:
        bad: Any = {"name": "send", "args": "{to:", "id": call_id, "error": None, "type": "invalid_tool_call"}
        return AIMessage("", invalid_tool_calls=[bad])

    def test_the_model_hears_of_it_and_goes_on(self) -> None:
        ran = Recorder()
        talk = chat([self.unreadable("i"), says(call("send", "x")), AIMessage("fine")], [ran.tool("send", SEND)])
        talk.say()
        assert "could not be read" in talk.result("i")
        talk.answer("approve")
        assert ran.names == ["send"]
        assert talk.messages[-1].content == "fine"

    def test_a_model_that_never_gets_it_right_ends(self) -> None:
        ran = Recorder()
        talk = chat([self.unreadable(f"i{n}") for n in range(9)], [ran.tool("send", SEND)])
        talk.say()
        assert len(talk.model.seen) == 3
        assert len(talk.results) == 3
