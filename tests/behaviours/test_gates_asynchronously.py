"""The gates in an agent that is driven asynchronously: what is not offered does not run, and where nobody is there
nothing waits."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, before_model
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from tests.support import Chat, Recorder, ScriptedModel, call, says
from tests.support import chat as synchronous_chat
from toolgate_langchain import (
    ApprovalRule,
    Caller,
    RemoteServer,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    Verdict,
)
from toolgate_langchain.errors import ToolGateWarning
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.caller import Skill

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
HIDDEN = ToolProfile(tier=Tier.READ_ONLY, admin_only=True)
MARKED = ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)
FORM = ToolProfile(tier=Tier.READ_ONLY, input_schema={"type": "object", "properties": {"city": {"type": "string"}}})


def chat(*given: Any, **options: Any) -> Chat:
    return synchronous_chat(*given, asynchronous=True, **options)


def forged() -> AIMessage:
    return says(call("hidden", "h"), call("seen", "s"))


@before_model(can_jump_to=["tools"])
async def jump_to_tools(state: Any, runtime: Any) -> dict[str, Any] | None:
    """Put calls into the history and go past the model, and past the asking."""
    if any(isinstance(message, AIMessage) for message in state["messages"]):
        return None
    return {"messages": [forged()], "jump_to": "tools"}


class CachedReply(AgentMiddleware[Any, Any, Any]):
    """Gives a stored reply instead of calling the model."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        if any(isinstance(message, AIMessage) for message in request.messages):
            return await handler(request)
        return ModelResponse(result=[forged()])


class RenamesCalls(AgentMiddleware[Any, Any, Any]):
    """Sends one call to another tool, with that other tool in hand."""

    def __init__(self, target: BaseTool) -> None:
        super().__init__()
        self.target = target

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        if request.tool_call["id"] != "h":
            return await handler(request)
        renamed = ToolCall(name=self.target.name, args={}, id="h", type="tool_call")
        return await handler(request.override(tool_call=renamed, tool=self.target))


class TestARegisteredToolThatWasNotOffered:
    """The model names it: "not permitted", never executed, whatever jump_to, a cached response or another middleware
    does."""

    @staticmethod
    def tools(ran: Recorder) -> list[BaseTool]:
        return [ran.tool("hidden", HIDDEN), ran.tool("seen", READ)]

    @staticmethod
    def check(talk: Chat, ran: Recorder, *, permitted: bool) -> None:
        if permitted:
            assert sorted(ran.names) == ["hidden", "seen"]
            return
        assert ran.names == ["seen"]
        assert talk.result("h") == "The call of 'hidden' was not executed. It is not permitted here."
        assert talk.result("s") == "ran seen"
        assert all(names == ["seen"] for names in talk.model.offered)

    @pytest.mark.parametrize("admin", [False, True])
    def test_by_the_model(self, admin: bool) -> None:
        ran = Recorder()
        talk = chat([forged()], self.tools(ran), caller=Caller("ann", admin=admin))
        talk.say()
        self.check(talk, ran, permitted=admin)

    @pytest.mark.parametrize("admin", [False, True])
    @pytest.mark.parametrize("around", [False, True], ids=["alone", "as a pair"])
    @pytest.mark.parametrize("way", [jump_to_tools, CachedReply()], ids=["jump_to", "a cached response"])
    def test_by_a_jump_or_a_cached_response(
        self, way: AgentMiddleware[Any, Any, Any], around: bool, admin: bool
    ) -> None:
        ran, gate = Recorder(), ToolGate()
        caller = Caller("ann", admin=admin)
        middleware = gate.around([way], caller=caller) if around else [ToolGateMiddleware(gate, caller=caller), way]
        talk = chat([], self.tools(ran), gate=gate, middleware=middleware)
        talk.say()
        self.check(talk, ran, permitted=admin)

    @pytest.mark.parametrize("admin", [False, True])
    def test_by_another_middleware_that_renames_a_call(self, admin: bool) -> None:
        ran, gate = Recorder(), ToolGate()
        tools = self.tools(ran)
        script = [says(call("seen", "h"), call("seen", "s"))]
        others = gate.around([RenamesCalls(tools[0])], caller=Caller("ann", admin=admin))
        talk = chat(script, tools, gate=gate, middleware=others)
        talk.say()
        self.check(talk, ran, permitted=admin)


def test_an_empty_list_offers_nothing_and_the_model_is_then_called_without_tools_and_order_is_kept() -> None:
    for requested, bound in (((), []), (("c", "invented", "a"), [["c", "a"]]), (None, [["a", "b", "c"]])):
        tools = [Recorder().tool(name, READ) for name in ("a", "b", "c")]
        talk = chat([], tools, configuration=RunConfiguration(tools=requested))
        talk.say()
        assert len(talk.model.seen) == 1
        assert talk.model.offered == bound


def test_a_surface_that_denies_a_tier_neither_offers_nor_runs_its_tools_whatever_a_heuristic_says() -> None:
    for routine, runs in ((Verdict.DENY, 0), (Verdict.ASK, 1)):
        ran = Recorder()
        gate = ToolGate(surfaces=[Surface("chat", routine=routine)], heuristics=[lambda *_: True])
        talk = chat([says(call("save", "s"))], [ran.tool("save", ROUTINE), ran.tool("read", READ)], gate=gate)
        talk.say()
        assert (ran.count("save"), "save" in talk.model.offered[0], talk.requests) == (runs, bool(runs), [])


def test_a_skill_list_stored_with_a_paused_run_is_intersected_with_the_live_one_on_resume() -> None:
    """Removing the only declaring skill must not open every tool."""
    declaring = RunConfiguration(skills=(Skill("s", ("ask", "a")),))
    for before, live, runs in (
        (declaring, RunConfiguration(), ["a", "ask"]),
        (RunConfiguration(), declaring, ["a", "ask"]),
        (RunConfiguration(), RunConfiguration(), ["a", "ask", "b"]),
    ):
        ran, saver = Recorder(), InMemorySaver()
        tools = [ran.tool("ask", ROUTINE), ran.tool("a", READ), ran.tool("b", READ)]
        script = [says(call("ask", "p")), says(call("a", "a"), call("b", "b"))]
        chat(script, tools, checkpointer=saver, configuration=before).say()
        chat(script[1:], tools, checkpointer=saver, configuration=live).answer("approve")
        assert sorted(ran.names) == runs


class TestNobodyIsThere:
    """The unattended set is offered, the run never suspends, and what was refused is said loudly."""

    def test_exactly_the_unattended_set_is_offered(self) -> None:
        ran = Recorder()
        profiles = {
            "second_read": READ, "write": ROUTINE, "asks_input": FORM, "read": READ, "marked": MARKED,
            "predicate": ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda _: False), "unclassified": None,
        }  # fmt: skip
        talk = chat([], [ran.tool(name, profile) for name, profile in profiles.items()], surface="cron")
        talk.say()
        assert talk.model.offered == [["second_read", "read"]]

    @pytest.mark.parametrize("profile", [ROUTINE, MARKED, FORM, None], ids=["routine", "marked", "input", "none"])
    @pytest.mark.parametrize("heuristics", [[], [lambda *_: True]], ids=["alone", "a heuristic says yes"])
    def test_a_call_that_would_need_a_person_is_refused_loudly(
        self, caplog: pytest.LogCaptureFixture, profile: ToolProfile | None, heuristics: list[Any]
    ) -> None:
        ran = Recorder()
        talk = chat(
            [says(call("act", "x"), call("read", "r"))],
            [ran.tool("act", profile), ran.tool("read", READ)],
            gate=ToolGate(heuristics=heuristics),
            surface="cron",
        )
        talk.say()
        assert (ran.names, talk.requests) == (["read"], [])
        assert "was not executed" in talk.result("x")
        assert [one.levelno for one in caplog.records if "refused 'act' on surface 'cron'" in one.getMessage()] == [
            logging.WARNING
        ]

    def test_a_call_that_must_be_asked_about_is_denied_unattended_and_said_loudly(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        ran, codes = Recorder(), list[str]()
        gate = ToolGate(
            argument_policies=[
                lambda view: PolicyAnswer(Verdict.ASK if view.arguments else Verdict.ALLOW, "look at it")
            ],
            on_decision=lambda outcome: codes.append(outcome.code),
        )
        talk = chat([says(call("read", "x", n=1)), says(call("read", "r"))], [ran.tool("read", READ)], gate=gate,
                    surface="cron")  # fmt: skip
        talk.say()
        assert (ran.runs, talk.requests) == ([("read", {})], [])
        assert codes == ["unattended", "not_required"]
        assert "nobody is there" in talk.result("x")
        assert "look at it" in caplog.text

    def test_an_interrupt_raised_inside_a_tool_becomes_an_error_result(self, caplog: pytest.LogCaptureFixture) -> None:
        for surface, waits in (("cron", False), ("chat", True)):
            ran = Recorder()

            async def asks(**_: Any) -> str:
                return str(interrupt("which one?"))

            tool = ran.tool("read", READ).model_copy(update={"coroutine": asks})
            talk = chat([says(call("read", "r"))], [tool], surface=surface)
            talk.say()
            assert bool(talk.agent.get_state(talk.config).interrupts) is waits
            if not waits:
                (result,) = talk.results
                assert (result.status, "nobody is there" in str(result.content)) == ("error", True)
                assert "wanted to pause" in caplog.text

    def test_remote_undeclared_with_the_exemption_runs_without_a_pause(self) -> None:
        for rule, runs in ((ApprovalRule(), 0), (ApprovalRule("exempt"), 1)):
            ran, catalog = Recorder(), ToolCatalog()
            tool = ran.tool("remote")
            catalog.add_remote(RemoteServer("srv", profiles={"remote": READ}), [tool])
            gate = ToolGate(catalog, [Surface("cron", attended=False)], approval_rule=rule)
            talk = chat([says(call("remote", "r"))], [tool], gate=gate, surface="cron")
            talk.say()
            assert (ran.count("remote"), talk.requests) == (runs, [])


@pytest.mark.parametrize("around", [False, True], ids=["alone", "as a pair"])
@pytest.mark.parametrize("tier", [None, Tier.ROUTINE, Tier.READ_ONLY])
async def test_a_provider_side_tool_that_would_be_asked_is_not_offered_with_a_warning(
    tier: Tier | None, around: bool
) -> None:
    catalog = ToolCatalog()
    catalog.register_provider_tool("web_search", ToolProfile(tier=tier))
    gate, model = ToolGate(catalog), ScriptedModel()
    tools: list[Any] = [{"type": "web_search"}]
    middleware = gate.around([]) if around else [ToolGateMiddleware(gate)]
    agent: Any = create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        await agent.ainvoke({"messages": [HumanMessage("hi")]}, {"configurable": {"thread_id": "t"}})
    allowed = tier is Tier.READ_ONLY
    assert model.offered == ([["web_search"]] if allowed else [])
    assert [one.category for one in heard] == ([] if allowed else [ToolGateWarning])
