"""Tools outside of LangGraph: what they may take, and what they may give."""

import logging
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from tests.agent.talking import CONSEQUENTIAL, READ, Talk, talk
from tests.support import Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import GatedAgent, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError


def ask(given: BaseTool, asynchronous: bool, profile: ToolProfile = READ, **args: Any) -> Talk:
    """One call of one tool."""
    script = [says(call(given.name, "a", **args))]
    return talk(script, [with_profile(given, profile)], Recorder(), asynchronous=asynchronous).say()


def result(told: Talk) -> ToolMessage:
    (message,) = [one for one in told.messages if isinstance(one, ToolMessage)]
    return message


def test_a_call_without_its_mark_runs_with_the_arguments_that_were_approved(asynchronous: bool) -> None:
    """A Runnable may give calls without `"type": "tool_call"`, which a tool takes for its arguments themselves."""
    names: list[str] = []

    @tool
    def delete(name: str, id: str = "") -> str:
        """Delete."""
        names.append(name + id)
        return f"deleted {name}"

    def speak(messages: list[BaseMessage]) -> AIMessage:
        message = AIMessage("done")
        if not isinstance(messages[-1], ToolMessage):
            message.tool_calls = [ToolCall(name="delete", args={"name": "draft"}, id="a")]
        return message

    told = Talk(
        GatedAgent(RunnableLambda(speak), [with_profile(delete, CONSEQUENTIAL)]),
        ScriptedModel(),
        Recorder(),
        asynchronous,
    )
    assert told.say().request.arguments == {"name": "draft", "id": ""}
    assert result(told.answer()).content == "deleted draft" and names == ["draft"]


def test_an_artifact_stays_with_its_result(asynchronous: bool) -> None:
    @tool(response_format="content_and_artifact")
    def look() -> tuple[str, dict[str, int]]:
        """Look."""
        return "seen", {"rows": 2}

    message = result(ask(look, asynchronous))
    assert (message.content, message.artifact) == ("seen", {"rows": 2})


def test_a_tool_that_returns_a_command_gets_an_error_result(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def jump() -> Command[Any]:
        """Jump."""
        return Command(goto="elsewhere")

    message = result(ask(jump, asynchronous))
    assert message.status == "error" and "it returned Command, which cannot be carried out here" in message.content
    assert "only LangGraph can carry out" in caplog.text


def test_a_tool_message_of_another_call_becomes_the_one_of_its_own(asynchronous: bool) -> None:
    @tool
    def mix() -> ToolMessage:
        """Mix up."""
        return ToolMessage("mine", tool_call_id="somebody else's")

    message = result(ask(mix, asynchronous))
    assert (message.tool_call_id, message.content) == ("a", "mine")


def test_what_langchain_core_itself_fills_in_is_filled_in(asynchronous: bool) -> None:
    @tool
    def look(config: RunnableConfig, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Look."""
        return f"{config['configurable']['user']} {call_id}"

    script = [says(call("look", "a"))]
    told = talk(script, [with_profile(look, READ)], Recorder(), asynchronous=asynchronous)
    told.config = {"configurable": {"user": "ann"}}
    assert result(told.say()).content == "ann a"


def takes_state(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look."""
    return "seen"


def takes_store(text: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Look."""
    return "seen"


def takes_runtime(runtime: ToolRuntime) -> str:
    """Look."""
    return "seen"


class StateSchema(BaseModel):
    text: str
    state: Annotated[dict[str, Any] | None, InjectedState] = None


@tool(args_schema=StateSchema)
def takes_state_by_schema(text: str, state: Any = None) -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("given", "name"),
    [(takes_state, "state"), (takes_store, "store"), (takes_runtime, "runtime"), (takes_state_by_schema, "state")],
)
def test_what_only_langgraph_fills_in_is_refused_when_the_agent_is_built(given: Any, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"takes '{name}', which only LangGraph fills in"):
        talk([], [given], Recorder(), asynchronous=False)


def test_a_parameter_that_is_merely_kept_from_the_model_is_no_hindrance(asynchronous: bool) -> None:
    @tool
    def look(user: Annotated[str, InjectedToolArg] = "nobody") -> str:
        """Look."""
        return user

    assert result(ask(look, asynchronous)).content == "nobody"
    assert "was not executed" in result(ask(look, asynchronous, user="root")).content


def test_an_error_that_the_tool_handles_is_its_result(asynchronous: bool) -> None:
    @tool
    def look() -> str:
        """Look."""
        raise ToolException("nothing there")

    look.handle_tool_error = True
    message = result(ask(look, asynchronous))
    assert (message.status, message.content) == ("error", "nothing there")


def test_arguments_that_the_tool_itself_finds_fault_with_go_back_to_the_model(asynchronous: bool) -> None:
    class Deep(BaseModel):
        n: int

    @tool
    def look() -> str:
        """Look."""
        return str(Deep.model_validate({"n": "no number"}))

    message = result(ask(look, asynchronous))
    assert message.status == "error" and "did not take its arguments" in message.content


def test_a_function_is_a_tool_and_unclassified(asynchronous: bool) -> None:
    def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    told = talk([says(call("look", "a", n=1))], [look], Recorder(), asynchronous=asynchronous).say()  # type: ignore[list-item]
    assert told.request.tier == "unclassified"
    assert result(told.answer()).content == "seen 1"


def test_two_tools_of_one_name_are_refused() -> None:
    ran = Recorder()
    with pytest.raises(ConfigurationError, match="two tools are named 'look'"):
        talk([], [ran.tool("look"), ran.tool("look")], ran, asynchronous=False)


@pytest.mark.parametrize("wrong", ["look", 5, [5]])
def test_what_is_no_list_of_tools_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="tools"):
        talk([], wrong, Recorder(), asynchronous=False)


def test_an_agent_of_langgraph_inside_of_a_tool_that_may_have_to_ask_is_told_so(asynchronous: bool) -> None:
    """When the agent around it is built, or where only a run tells the surface, before the one inside runs."""
    ran, gate = Recorder(), ToolGate()
    inner = chat([says(call("deploy", "i"))], [ran.tool("deploy", CONSEQUENTIAL)], gate=gate)

    @tool
    def delegate() -> str:
        """Ask another agent."""
        return str(inner.say())

    script, tools = [says(call("delegate", "a"))], [with_profile(delegate, READ)]
    with pytest.raises(ConfigurationError, match="'delegate' starts an agent of LangGraph"):
        talk(script, tools, ran, asynchronous=asynchronous, gate=gate)
    with pytest.raises(ConfigurationError, match=r"its question would not reach.*Make that one a GatedAgent"):
        talk(script, tools, ran, asynchronous=asynchronous, gate=gate, surface=lambda _: "chat").say()
    assert ran.runs == []


class Said(TypedDict):
    said: str


def test_a_tool_that_pauses_the_graph_around_the_agent_ends_with_an_error_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    @tool
    def pause() -> str:
        """Pause."""
        return str(interrupt("May I?"))

    def node(state: Said) -> Said:
        return {"said": str(result(ask(pause, asynchronous=False)).text)}

    graph = StateGraph(Said)
    graph.add_node("agent", node)
    graph.set_entry_point("agent")
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    output = graph.compile(checkpointer=InMemorySaver()).invoke({"said": ""}, config)
    assert "__interrupt__" not in output and "began and did not end" in output["said"]
    assert "wanted to pause, and a GatedAgent cannot let it go on later" in caplog.text


class TestReturnDirect:
    """A tool whose result is the last word."""

    @staticmethod
    def told(ran: Recorder, asynchronous: bool, *calls: Any, profile: ToolProfile = READ) -> Talk:
        direct = ran.tool("direct", profile).model_copy(update={"return_direct": True})
        return talk([says(*calls)], [direct, ran.tool("list", READ)], ran, asynchronous=asynchronous).say()

    def test_its_result_ends_the_run(self, ran: Recorder, asynchronous: bool) -> None:
        told = self.told(ran, asynchronous, call("direct", "a"))
        assert told.messages[-1].text == "ran direct" and len(told.model.seen) == 1
        told.give({"session": told.session})
        assert len(told.model.seen) == 1  # it is over

    def test_beside_another_tool_it_does_not(self, ran: Recorder, asynchronous: bool) -> None:
        told = self.told(ran, asynchronous, call("direct", "a"), call("list", "b"))
        assert told.messages[-1].text == "done"

    def test_a_refusal_of_it_goes_to_the_model(self, ran: Recorder, asynchronous: bool) -> None:
        told = self.told(ran, asynchronous, call("direct", "a"), profile=CONSEQUENTIAL)
        told.answer("reject", message="no")
        assert ran.runs == [] and told.messages[-1].text == "done" and "no" in told.results["a"]

    def test_of_two_one_that_ran_ends_the_run(self, ran: Recorder, asynchronous: bool) -> None:
        told = self.told(ran, asynchronous, call("direct", "a"), call("direct", "b", n=1), profile=CONSEQUENTIAL)
        told.answer("reject").answer()
        assert ran.count("direct") == 1 and len(told.model.seen) == 1 and list(told.results) == ["a", "b"]


def test_the_log_is_quiet_where_all_is_well(asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    with caplog.at_level(logging.INFO, "toolgate_langchain"):
        ask(look, asynchronous)
    assert caplog.text == ""
