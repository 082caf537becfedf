"""What is wrong: with the configuration, when the gate or the agent is built; with calls, as their results."""

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState

from tests.support import Chat, Recorder, Turn, call, chat, says, with_profile
from toolgate_langchain import (
    ApprovalRule,
    Caller,
    InMemoryLedger,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    TrustZone,
    UnattendedToolFilter,
)
from toolgate_langchain.errors import CatalogError, ConfigurationError

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)


def yes(*_: Any) -> bool:
    return True


# --- the gate and the agent ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "wrong", "says", "right"),
    [
        ("catalog", [Recorder().tool("read")], "which is not a ToolCatalog", ToolCatalog()),
        ("approval_rule", "exempt", "'exempt', which is not a ApprovalRule", ApprovalRule("exempt")),
        ("surfaces", Surface("chat"), "it must be a list", [Surface("chat")]),
        ("surfaces", "chat", "'chat'; it must be a list", [Surface("chat")]),
        ("heuristics", yes, "it must be a list", [yes]),
        ("heuristics", ["yes"], r"\[0\] is 'yes', which cannot be called", [yes]),
        ("argument_policies", yes, "it must be a list", [yes]),
        ("argument_policies", [None], r"\[0\] is None, which cannot be called", [yes]),
        ("ledger", InMemoryLedger, "which is not a ledger", InMemoryLedger()),
        ("ledger", {}, "{}, which is not a ledger", InMemoryLedger()),
        ("answers", "loose", "'loose'; it must be 'strict' or 'lenient'", "lenient"),
        ("on_decision", [], "which cannot be called", print),
        ("clock", 5, "5, which cannot be called", None),
        ("new_id", "id", "'id', which cannot be called", None),
    ],
)
def test_a_gate_names_the_field_what_was_given_and_what_is_allowed(
    field: str, wrong: Any, says: str, right: Any
) -> None:
    with pytest.raises(ConfigurationError, match=f"{field}.*{says}"):
        ToolGate(**{field: wrong})
    ToolGate(**{field: right})


@pytest.mark.parametrize(
    ("field", "wrong", "says", "right"),
    [
        ("gate", ToolCatalog(), "which is not a ToolGate", ToolGate()),
        ("surface", "kiosk", "unknown surface 'kiosk'; known: 'chat', 'cli', 'cron'", "cli"),
        ("surface", None, "unknown surface None; known: 'chat', 'cli', 'cron'", "cron"),
        ("caller", "ann", "caller is 'ann', which is not a Caller", Caller("ann")),
        ("configuration", {"groups": []}, "which is not a RunConfiguration", RunConfiguration()),
        ("zone", "local", "zone is a TrustZone .*, not 'local'", TrustZone.LOCAL),
    ],
)
def test_a_middleware_names_the_field_what_was_given_and_what_is_allowed(
    field: str, wrong: Any, says: str, right: Any
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ToolGateMiddleware(**{field: wrong})
    ToolGateMiddleware(**{field: right})
    if field != "gate":
        with pytest.raises(ConfigurationError, match=says):
            ToolGate().around([], **{field: wrong})


@pytest.mark.parametrize(
    ("field", "gives", "says"),
    [
        ("surface", "kiosk", "unknown surface 'kiosk'"),
        ("surface", 5, "'surface' returned 5"),
        ("caller", "ann", "'caller' returned 'ann'"),
        ("configuration", {}, "'configuration' returned {}"),
        ("configuration", RunConfiguration(groups=frozenset({"post"})), "'post', which no tool is in"),
        ("zone", "local", "not 'local'"),
    ],
)
def test_what_a_function_of_the_runtime_gives_is_checked_at_the_first_run_before_the_model_is_called(
    ran: Recorder, asynchronous: bool, field: str, gives: Any, says: str
) -> None:
    setting: dict[str, Any] = {field: lambda _: gives}
    talk = chat([], [ran.tool("read", READ)], asynchronous=asynchronous, **setting)
    with pytest.raises(ConfigurationError, match=says):
        talk.say()
    assert talk.model.seen == []


def test_a_profile_for_a_tool_that_does_not_exist_names_the_tool_and_those_that_do() -> None:
    tools = [Recorder().tool("read"), Recorder().tool("send")]
    with pytest.raises(CatalogError, match=r"a profile is given for 'sent'.*registered: 'read', 'send'"):
        ToolCatalog.from_tools(tools, profiles={"sent": READ})
    with pytest.raises(CatalogError, match=r"`enabled` names 'sent'.*registered: 'read', 'send'"):
        ToolCatalog.from_tools(tools, enabled=["sent"])
    ToolCatalog.from_tools(tools, profiles={"send": READ}, enabled=["send"])


@pytest.mark.parametrize("value", ["routin", 2, True])
def test_a_wrong_tier_names_the_field_what_was_given_and_what_is_allowed(value: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)tier.*'read_only', 'routine' or 'consequential'.*input_value=") as wrong:
        ToolProfile(tier=value)
    assert repr(value) in str(wrong.value)
    ToolProfile(tier="routine")  # type: ignore[arg-type]  # a scale's member by its name


def test_the_filter_is_an_interface_of_its_own_that_the_gate_uses() -> None:
    gate = ToolGate(ToolCatalog.from_tools([Recorder().tool("read", READ), Recorder().tool("save", ROUTINE)]))
    made = UnattendedToolFilter(gate.approval_rule, gate.catalog.get, gate.surface("cron"))
    assert made.unattended(["save", "read"]) == gate.unattended(["save", "read"], surface="cron") == ["read"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda gate: gate.unattended("read", surface="cron"), "names is 'read'; it must be a list"),
        (lambda gate: gate.unattended([5], surface="cron"), "names holds 5, which is not a tool's name"),
        (lambda gate: gate.filter_offerable("read", surface="chat"), "names is 'read'; it must be a list"),
        (lambda gate: gate.decide("read", surface="chat"), "call is 'read'; it must be a tool call"),
        (lambda gate: gate.explain({"name": "read"}, surface="chat"), "it must be a tool call"),
        (lambda gate: gate.explain({"name": 5, "args": {}}, surface="chat"), "it must be a tool call"),
        (lambda gate: gate.around(ToolGateMiddleware()), "others is .* it must be a list"),
        (lambda gate: gate.around([ToolGateMiddleware]), r"others\[0\] is .*, which is not a middleware"),
    ],
)
def test_what_a_gate_is_asked_names_what_was_given_and_what_is_allowed(
    ask: Callable[[ToolGate], Any], says: str
) -> None:
    gate = ToolGate(ToolCatalog.from_tools([Recorder().tool("read", READ)]))
    with pytest.raises(ConfigurationError, match=says):
        ask(gate)


# --- calls ---------------------------------------------------------------------------------------


def state_reader(ran: Recorder) -> Any:
    """A tool with a parameter that code fills in."""

    def save(n: int, state: Annotated[Any, InjectedState]) -> str:
        ran.runs.append(("save", {"n": n}))
        return f"saved beside {len(state['messages'])} messages"

    return with_profile(StructuredTool.from_function(save, description="Saves."), ROUTINE)


MALFORMED: dict[str, dict[str, Any]] = {
    "unknown tool": {"name": "sav", "args": {"n": 1}},
    "no name": {"name": "", "args": {}},
    "wrong type": {"name": "save", "args": {"n": "many"}},
    "missing": {"name": "save", "args": {}},
    "an injected field": {"name": "save", "args": {"n": 1, "state": {"messages": []}}},
    "not a number": {"name": "save", "args": {"n": float("nan")}},
    "infinity": {"name": "save", "args": {"n": 1, "note": float("inf")}},
    "beyond 64 bits": {"name": "save", "args": {"n": 2**64}},
    "a lone surrogate": {"name": "save", "args": {"n": 1, "note": "\ud800"}},
}


class TestMalformedCallsBecomeErrorResults:
    @pytest.mark.parametrize("malformed", list(MALFORMED.values()), ids=list(MALFORMED))
    def test_and_the_good_one_beside_it_is_asked_and_runs(
        self, ran: Recorder, asynchronous: bool, malformed: dict[str, Any]
    ) -> None:
        turn = says({**malformed, "id": "bad", "type": "tool_call"}, call("save", "good", n=1))  # type: ignore[typeddict-item]
        talk = chat([turn, AIMessage("I see")], [state_reader(ran)], asynchronous=asynchronous)
        talk.say()
        assert (talk.request.tool_call_id, talk.request.of) == ("good", 1)
        talk.answer("approve")
        assert ran.runs == [("save", {"n": 1})]
        (error,) = [one for one in talk.results if one.tool_call_id == "bad"]
        assert error.status == "error"
        assert "not executed" in str(error.content)
        assert talk.messages[-1].text == "I see"

    def test_one_that_nobody_could_parse_beside_a_good_one(self, ran: Recorder, asynchronous: bool) -> None:
        """Nothing dangles: each call of the turn has its one result behind it before the model speaks again."""
        bad: Any = {"name": "save", "args": "{n:", "id": "bad", "error": None, "type": "invalid_tool_call"}
        turn = AIMessage("", tool_calls=[call("save", "good", n=1)], invalid_tool_calls=[bad])
        talk = chat([turn, AIMessage("I see")], [state_reader(ran)], asynchronous=asynchronous)
        talk.say()
        talk.answer("approve")
        assert ran.runs == [("save", {"n": 1})]
        assert sorted(one.tool_call_id for one in talk.results) == ["bad", "good"]
        assert "could not be read" in talk.result("bad")
        assert [one.type for one in talk.model.seen[-1]] == ["human", "ai", "tool", "tool"]


# --- nothing that was answered is lost ---------------------------------------------------------------


class SavedResult(InMemorySaver):
    """Tells when the result of call `a` is in the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.is_saved = threading.Event()

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], *more: Any, **others: Any) -> None:
        super().put_writes(config, writes, *more, **others)
        messages = [one for channel, value in writes if channel == "messages" for one in value]
        if any(isinstance(one, ToolMessage) and one.tool_call_id == "a" for one in messages):
            self.is_saved.set()


class TestNothingThatWasAnsweredIsLost:
    @staticmethod
    def talk(ran: Recorder, fails: Callable[[], None], *, asynchronous: bool, saver: Any = None) -> Chat:
        def breaks(**_: Any) -> str:
            fails()
            return "fine"

        broken = ran.tool("break", ROUTINE).model_copy(update={"func": breaks, "coroutine": None})
        script = [says(call("save", "a", n=1), call("break", "b")), says(call("save", "c", n=1))]
        tools = [ran.tool("save", ROUTINE), broken]
        talk = chat(script, tools, asynchronous=asynchronous, checkpointer=saver)
        talk.say()
        return talk

    def test_where_a_tool_of_the_turn_raises(self, ran: Recorder, asynchronous: bool) -> None:
        """The run goes on where it stopped: nobody is asked again, what ran keeps its result, nothing runs twice."""

        saver = SavedResult()

        def fails() -> None:
            # A tool that fails ends the step, and what its sibling did is kept only if it was saved by then.
            assert saver.is_saved.wait(30)
            raise RuntimeError("no disk")

        talk = self.talk(ran, fails, asynchronous=asynchronous, saver=saver)
        talk.answer("approve", remember="arguments")
        with pytest.raises(RuntimeError, match="no disk"):
            talk.answer("approve")
        talk.invoke(None)
        assert talk.requests == []
        assert (talk.result("a"), talk.result("c")) == ("ran save", "ran save")
        assert "outcome is unknown" in talk.result("b")
        assert ran.runs == [("save", {"n": 1})] * 2  # the second by the rule that the first answer made

    def test_where_it_does_not_raise(self, ran: Recorder, asynchronous: bool) -> None:
        """The positive control."""
        talk = self.talk(ran, lambda: None, asynchronous=asynchronous)
        talk.answer("approve", remember="arguments")
        talk.answer("approve")
        assert (talk.result("a"), talk.result("b"), talk.result("c")) == ("ran save", "fine", "ran save")

    def test_where_the_model_fails_after_the_answers(self, ran: Recorder, asynchronous: bool) -> None:
        failing = [True]

        def unreachable(_: Any) -> AIMessage:
            if failing[0]:
                raise ConnectionError("no route")
            return says(call("save", "again", n=1))

        script: list[Turn] = [says(call("save", "a", n=1)), unreachable, unreachable]
        talk = chat(script, [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
        talk.say()
        with pytest.raises(ConnectionError):
            talk.answer("reject", message="not one")
        failing[0] = False
        talk.invoke(None)
        assert ran.runs == []
        assert "not one" in talk.result("a")
        assert "rejected exactly this call" in talk.result("again")
