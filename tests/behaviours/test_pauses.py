"""Pauses: what changes while a person thinks, typed input, and a place to keep the question."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from tests.behaviours.answering import approve, give
from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says
from toolgate_langchain import (
    InMemoryLedger,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
)
from toolgate_langchain.errors import ConfigurationError, MissingCheckpointerError
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.vocabulary import Verdict

READ = ToolProfile(tier=Tier.READ_ONLY)
MAIL = ToolProfile(tier=Tier.CONSEQUENTIAL, groups=frozenset({"mail"}))
FORM = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


class Paused:
    """An agent that waits for an answer, and the same thread behind other gates."""

    def __init__(self, ran: Recorder, *, asynchronous: bool) -> None:
        self.ran, self.asynchronous = ran, asynchronous
        self.saver, self.ledger = InMemorySaver(), InMemoryLedger()
        self.tools = [ran.tool("send", MAIL), ran.tool("read", READ)]

    def behind(self, script: list[Turn], *, configuration: Any = None, **gate: Any) -> Chat:
        """The thread, with an agent behind another gate that shares the ledger."""
        return chat(
            script,
            self.tools,
            gate=ToolGate(ledger=self.ledger, **gate),
            checkpointer=self.saver,
            asynchronous=self.asynchronous,
            configuration=configuration,
        )


@pytest.fixture
def paused(ran: Recorder, asynchronous: bool) -> Paused:
    return Paused(ran, asynchronous=asynchronous)


def denies(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY)


def asks(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK)


class TestTightenedDuringThePause:
    """A configuration, catalog or policy tightened: the approved call that is no longer permitted does not run."""

    def test_a_configuration(self, ran: Recorder, asynchronous: bool) -> None:
        live: list[RunConfiguration | None] = [None]
        catalog = ToolCatalog.from_tools([ran.tool("send", MAIL), ran.tool("read", READ)])
        talk = chat(
            [says(call("send", "s"))],
            [entry.tool for entry in catalog.entries() if entry.tool is not None],
            gate=ToolGate(catalog),
            configuration=lambda _: live[0],
            asynchronous=asynchronous,
        )
        talk.say()
        live[0] = RunConfiguration(groups=frozenset())
        talk.answer("approve")
        assert ran.runs == []
        assert "not permitted" in talk.result("s")

    @pytest.mark.parametrize("what", ["tool", "group"])
    def test_a_catalogs_switch(self, ran: Recorder, asynchronous: bool, what: str) -> None:
        tool = ran.tool("send", MAIL)
        catalog = ToolCatalog.from_tools([tool])
        talk = chat([says(call("send", "s"))], [tool], gate=ToolGate(catalog), asynchronous=asynchronous)
        talk.say()
        if what == "tool":
            catalog.switch_tool("send", on=False)
        else:
            catalog.switch_group("mail", on=False)
        talk.answer("approve")
        assert ran.runs == []
        assert "not permitted" in talk.result("s")

    def test_a_catalogs_switch_that_was_switched_back_leaves_the_approval(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """The positive control."""
        tool = ran.tool("send", MAIL)
        catalog = ToolCatalog.from_tools([tool])
        talk = chat([says(call("send", "s"))], [tool], gate=ToolGate(catalog), asynchronous=asynchronous)
        talk.say()
        catalog.switch_tool("send", on=False)
        catalog.switch_tool("send", on=True)
        talk.answer("approve")
        assert ran.count("send") == 1

    def test_an_argument_policy(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s"))]).say()
        tighter = paused.behind([], argument_policies=[denies])
        tighter.answer("approve")
        assert ran.runs == []
        assert "not permitted" in tighter.result("s")

    def test_a_policy_that_wants_it_asked_is_content_with_the_answer(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s"))]).say()
        paused.behind([], argument_policies=[asks]).answer("approve")
        assert ran.count("send") == 1

    def test_a_surface(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s"))]).say()
        tighter = paused.behind([], surfaces=[Surface("chat", consequential=Verdict.DENY)])
        tighter.answer("approve")
        assert ran.runs == []
        assert "not permitted" in tighter.result("s")

    def test_a_sibling_that_needed_nobody_and_would_be_asked_now_is_refused_as_changed(
        self, paused: Paused, ran: Recorder
    ) -> None:
        """Nothing joins an open queue; proposed again, it is asked."""
        paused.behind([says(call("send", "s"), call("read", "r"))]).say()
        tighter = paused.behind([says(call("read", "again"))], argument_policies=[asks])
        tighter.answer("approve")
        assert ran.names == ["send"]
        assert "no longer the same" in tighter.result("r")
        assert tighter.request.tool_call_id == "again"

    def test_the_tools_definition(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s", to="ann"))]).say()
        schema = {"type": "object", "properties": {"to": {"type": "string"}, "blind_copy": {"default": "eve"}}}
        paused.tools[0] = ran.tool("send", MAIL, schema=schema)
        other = paused.behind([says(call("send", "t", to="ann"))])
        other.answer("approve")
        assert ran.runs == []
        assert "no longer the same" in other.result("s")
        assert other.request.tool_call_id == "t"

    def test_the_switch_that_stops_all_releases(self, paused: Paused, ran: Recorder) -> None:
        talk = paused.behind([says(call("send", "s"), call("read", "r"))])
        talk.say()
        paused.ledger.stop()
        talk.answer("approve")
        assert ran.runs == []
        assert "stopped" in talk.result("s")
        assert "stopped" in talk.result("r")


class TestLoosenedDuringThePause:
    """Loosened: a recorded "no" stays a no."""

    def test_a_surface_that_would_not_ask_any_more(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s", n=1), call("send", "t", n=2))]).say()
        looser = paused.behind([], surfaces=[Surface("chat", routine=Verdict.ALLOW, consequential=Verdict.ALLOW)])
        looser.answer("reject")
        looser.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "A person rejected" in looser.result("s")

    def test_a_call_that_was_refused_when_the_turn_was_judged_stays_refused(
        self, paused: Paused, ran: Recorder
    ) -> None:
        def no_reading(view: ArgumentView) -> PolicyAnswer:
            return PolicyAnswer(Verdict.DENY if view.name == "read" else Verdict.ALLOW)

        paused.behind([says(call("send", "s"), call("read", "r"))], argument_policies=[no_reading]).say()
        looser = paused.behind([])
        looser.answer("approve")
        assert ran.names == ["send"]
        assert "not permitted" in looser.result("r")

    def test_a_configuration_that_permits_more_gives_the_paused_run_nothing(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        live = [RunConfiguration(groups=frozenset({"mail"}))]
        other = ToolProfile(tier=Tier.CONSEQUENTIAL, groups=frozenset({"files"}))
        tools = [ran.tool("send", MAIL), ran.tool("delete", other)]
        talk = chat(
            [says(call("send", "s"), call("delete", "d")), says(call("delete", "e"))],
            tools,
            gate=ToolGate(ToolCatalog.from_tools(tools)),
            configuration=lambda _: live[0],
            asynchronous=asynchronous,
        )
        talk.say()
        live[0] = RunConfiguration(groups=frozenset({"mail", "files"}))
        talk.answer("approve")
        assert ran.names == ["send"]
        assert "not permitted" in talk.result("d")
        assert "not permitted" in talk.result("e")

    def test_what_is_asked_is_still_to_be_answered(self, paused: Paused, ran: Recorder) -> None:
        paused.behind([says(call("send", "s"))]).say()
        looser = paused.behind([], surfaces=[Surface("chat", routine=Verdict.ALLOW, consequential=Verdict.ALLOW)])
        looser.resume({"type": "nothing"})
        assert ran.runs == []
        assert looser.request.tool_call_id == "s"


def travels(ran: Recorder) -> BaseTool:
    """A tool whose city a person fills in."""

    def travel(city: str, note: str) -> str:
        ran.runs.append(("travel", {"city": city, "note": note}))
        return f"went to {city}"

    return StructuredTool.from_function(
        travel,
        name="travel",
        description="Go.",
        metadata={"toolgate": ToolProfile(tier=Tier.ROUTINE, input_schema=FORM)},
    )


class TestAToolWithTypedInput:
    @pytest.fixture
    def talk(self, ran: Recorder, asynchronous: bool) -> Chat:
        talk = chat([says(call("travel", "t", city="guess", note="keep"))], [travels(ran)], asynchronous=asynchronous)
        talk.say()
        return talk

    def test_the_person_is_asked_with_its_schema(self, talk: Chat) -> None:
        assert talk.request.input_schema == FORM
        (interrupt,) = talk.agent.get_state(talk.config).interrupts
        assert interrupt.value["review_configs"][0]["args_schema"] == FORM

    def test_the_answer_may_fill_only_the_fields_of_that_schema(self, talk: Chat, ran: Recorder) -> None:
        """`{city: "guess", note: "keep"}` + `{city: "Berlin", evil: "x"}` → `{city: "Berlin", note: "keep"}`."""
        talk.answer("approve", input={"city": "Berlin", "evil": "x"})
        assert ran.runs == [("travel", {"city": "Berlin", "note": "keep"})]

    def test_a_field_of_the_tool_that_the_schema_does_not_have_cannot_be_filled_in(
        self, talk: Chat, ran: Recorder
    ) -> None:
        talk.answer("approve", input={"city": "Berlin", "note": "mine"})
        assert ran.runs == [("travel", {"city": "Berlin", "note": "keep"})]

    @pytest.mark.parametrize("given", [{}, {"town": "Berlin"}, {"city": 5}, {"city": None}, None], ids=repr)
    def test_input_that_does_not_fit_is_asked_again(self, talk: Chat, ran: Recorder, given: Any) -> None:
        more = {} if given is None else {"input": given}
        talk.answer("approve", **more)
        assert ("input" in talk.request.error, ran.runs) == (True, [])
        talk.answer("approve", input={"city": "Berlin"})
        assert ran.count("travel") == 1

    def test_it_is_asked_every_time_and_neither_edited_nor_remembered(self, talk: Chat, ran: Recorder) -> None:
        assert (talk.request.remember, "edit" in talk.request.allowed) == ((), False)
        talk.answer("approve", input={"city": "Berlin"}, remember="tool")
        talk.answer("edit", edited_action={"name": "travel", "args": {"city": "Rome", "note": "keep"}})
        assert ran.runs == []
        assert "not possible here" in talk.request.error

    def test_a_rejection_needs_no_input(self, talk: Chat, ran: Recorder) -> None:
        talk.answer("reject")
        assert (ran.runs, talk.requests) == ([], [])

    def test_through_the_gate(self, talk: Chat, ran: Recorder) -> None:
        request_id = talk.request.request_id
        assert give(talk, approve(request_id, input={"town": "Berlin"})).status == "asked_again"
        assert give(talk, approve(request_id, input={"city": "Berlin"})).status == "accepted"
        assert ran.runs == [("travel", {"city": "Berlin", "note": "keep"})]

    @pytest.mark.parametrize(
        "schema",
        [
            {},
            {"type": "object"},
            {"properties": {"city": {}}},
            {"type": "object", "properties": {}},
            {"type": "string"},
        ],
        ids=repr,
    )
    def test_a_schema_without_type_and_properties_is_rejected_at_registration(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="non-empty"):
            ToolProfile(input_schema=schema)

    def test_a_tool_that_takes_no_input_takes_none(self, ran: Recorder, asynchronous: bool) -> None:
        talk = chat([says(call("send", "s"))], [ran.tool("send", MAIL)], asynchronous=asynchronous)
        talk.say()
        talk.answer("approve", input={"city": "Berlin"})
        assert ran.runs == []
        assert "takes no input" in talk.request.error


class TestNoCheckpointer:
    """No checkpointer on an attended surface: a clear error at the first run, before the model is called."""

    @staticmethod
    def run(agent: Any, *, asynchronous: bool) -> Callable[[], Any]:
        import asyncio

        given = {"messages": [HumanMessage("go")]}
        return (lambda: asyncio.run(agent.ainvoke(given))) if asynchronous else (lambda: agent.invoke(given))

    def test_a_clear_error_before_the_model_is_called(self, ran: Recorder, asynchronous: bool) -> None:
        model = ScriptedModel(script=[says(call("read", "r"))])
        agent = create_agent(model, [ran.tool("read", READ)], middleware=[ToolGateMiddleware()])
        with pytest.raises(
            MissingCheckpointerError, match=r"surface 'chat' is attended.*create_agent\(.*checkpointer="
        ):
            self.run(agent, asynchronous=asynchronous)()
        assert (model.seen, ran.runs) == ([], [])

    def test_also_where_the_surface_is_a_function(self, ran: Recorder, asynchronous: bool) -> None:
        model = ScriptedModel()
        agent = create_agent(model, [ran.tool("read", READ)], middleware=[ToolGateMiddleware(surface=lambda _: "cli")])
        with pytest.raises(ConfigurationError, match="surface 'cli' is attended"):
            self.run(agent, asynchronous=asynchronous)()
        assert model.seen == []

    def test_with_one_it_runs(self, ran: Recorder, asynchronous: bool) -> None:
        talk = chat([says(call("read", "r"))], [ran.tool("read", READ)], asynchronous=asynchronous)
        talk.say()
        assert ran.names == ["read"]

    def test_an_unattended_surface_needs_none(self, ran: Recorder, asynchronous: bool) -> None:
        model = ScriptedModel(script=[says(call("read", "r"))])
        agent = create_agent(model, [ran.tool("read", READ)], middleware=[ToolGateMiddleware(surface="cron")])
        self.run(agent, asynchronous=asynchronous)()
        assert ran.names == ["read"]
