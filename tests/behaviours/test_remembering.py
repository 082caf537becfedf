"""What "don't ask again" remembers: exactly the recorded call, or the tool, and nothing that was not offered."""

from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.behaviours.answering import give, reject
from tests.support import Chat, Recorder, call, chat, says, with_profile
from toolgate_langchain import Tier, ToolProfile

ASKED = ToolProfile(tier=Tier.ROUTINE)
OK = AIMessage("ok")


class TestExactArguments:
    """(Parameters declared without a type, so that nothing is coerced.) Remember arguments `{"a": 1, "b": {"x":
    [1, 2], "y": null}}`."""

    REMEMBERED: Mapping[str, Any] = {"a": 1, "b": {"x": [1, 2], "y": None}}

    def later(self, arguments: Mapping[str, Any], asynchronous: bool) -> tuple[Chat, Recorder]:
        ran = Recorder()
        script = [says(call("deploy", **self.REMEMBERED)), OK, says(call("deploy", **arguments))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught()
        talk.say("again")
        return talk, ran

    def test_later_the_same_map_in_another_key_order_at_both_levels_is_not_asked(self, asynchronous: bool) -> None:
        """later the same map in another key order at both levels → no question."""
        talk, ran = self.later({"b": {"y": None, "x": [1, 2]}, "a": 1}, asynchronous)
        assert talk.requests == []
        assert ran.count("deploy") == 2

    @pytest.mark.parametrize(
        "arguments",
        [
            {"a": 1.0, "b": {"x": [1, 2], "y": None}},
            {"a": "1", "b": {"x": [1, 2], "y": None}},
            {"a": True, "b": {"x": [1, 2], "y": None}},
            {"a": 1, "b": {"x": [1, 2], "y": None}, "c": 1},
            {"a": 1, "b": {"x": [1, 2], "y": None}, "c": None},
            {"a": 1, "b": {"x": [1, 2]}},
            {"b": {"x": [1, 2], "y": None}},
            {"a": 1, "b": {"x": [2, 1], "y": None}},
            {"a": 1, "b": {"x": [1, 2], "y": False}},
            {"a": 1, "b": {"x": [1, 2.0], "y": None}},
        ],
        ids=[
            "1.0", '"1"', "true", "an extra key", "an extra null", "a missing key for null", "a missing key",
            "list order changed", "false for null", "2.0 in a list",
        ],
    )  # fmt: skip
    def test_anything_else_is_asked(self, arguments: Mapping[str, Any], asynchronous: bool) -> None:
        """`{"a": 1.0, …}`, `{"a": "1", …}`, `{"a": true, …}`, an extra key, a missing key, `null` for a missing key,
        list order changed → asked."""
        talk, ran = self.later(arguments, asynchronous)
        assert talk.request.arguments == arguments
        assert ran.count("deploy") == 1

    def test_null_for_a_missing_key_is_asked(self, asynchronous: bool) -> None:
        """`null` for a missing key → asked, where the key was missing when the call was remembered."""
        ran = Recorder()
        script = [says(call("deploy", a=1)), OK, says(call("deploy", a=1, b=None))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught()
        talk.say("again")
        assert talk.request.arguments == {"a": 1, "b": None}


def test_nothing_remembered_is_only_a_call_with_nothing(asynchronous: bool) -> None:
    """`{}` remembered, later a call with arguments → asked; later `{}` → not asked."""
    ran = Recorder()
    script = [says(call("deploy")), OK, says(call("deploy")), OK, says(call("deploy", n=1))]
    talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught()
    talk.say("again")
    assert talk.requests == []
    assert ran.count("deploy") == 2
    talk.say("with arguments")
    assert talk.request.arguments == {"n": 1}


def test_a_tool_wide_rule_is_for_any_arguments(asynchronous: bool) -> None:
    """Tool-wide rule → any arguments."""
    ran = Recorder()
    script = [says(call("deploy")), OK, says(call("deploy", n=1), call("deploy", n=[None])), says(call("restart"))]
    talk = chat(script, [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)], asynchronous=asynchronous).taught(
        "tool"
    )
    talk.say("again")
    assert talk.request.tool_name == "restart"
    assert ran.count("deploy") == 3


class TestAnswers:
    def test_a_rejected_answer_that_also_says_remember_makes_no_allow_rule(self, asynchronous: bool) -> None:
        """A rejected answer that also says "remember" → no allow rule. A "remember: deny" → the next such call is
        refused without a question."""
        ran = Recorder()
        script = [says(call("deploy", n=1)), OK, says(call("deploy", "same", n=1), call("deploy", "other", n=2))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught(kind="reject")
        assert [rule.effect for rule in talk.rules] == ["deny"]
        talk.say("a new run, which knows nothing of the rejection itself")
        assert talk.request.tool_call_id == "other"
        talk.answer("approve")
        assert ran.runs == [("deploy", {"n": 2})]
        assert "must not be made" in talk.result("same")

    def test_a_tool_wide_deny_refuses_any_call_without_a_question(self, asynchronous: bool) -> None:
        """A "remember: deny" of a whole tool → the next such call is refused without a question, whatever allows."""
        ran = Recorder()
        script = [says(call("deploy", n=1)), OK, says(call("deploy", n=2)), OK, says(call("deploy", "c", n=1))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught()
        talk.say("ask")
        talk.answer("reject", remember="tool")
        talk.say("what was allowed exactly")
        assert talk.requests == []
        assert "must not be made" in talk.result("c")
        assert ran.runs == [("deploy", {"n": 1})]

    @pytest.mark.parametrize(
        "smuggled",
        [
            {"args": {"n": 2}},
            {"arguments": {"n": 2}},
            {"edited_action": {"name": "deploy", "args": {"n": 2}}},
            {"input": {"n": 2}},
        ],
        ids=["args", "arguments", "edited_action", "input"],
    )
    @pytest.mark.parametrize("kind", ["approve", "reject"])
    def test_other_arguments_in_an_answer_are_never_remembered(
        self, asynchronous: bool, smuggled: dict[str, Any], kind: str
    ) -> None:
        """An answer that carries other arguments than the request → the rule (if any) is for the recorded call."""
        ran = Recorder()
        talk = chat([says(call("deploy", n=1))], [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        talk.answer(kind, remember="arguments", **smuggled)
        assert talk.request.error
        talk.answer(kind, remember="arguments")
        assert [rule.arguments for rule in talk.rules] == [{"n": 1}]

    def test_an_edit_is_never_remembered(self, asynchronous: bool) -> None:
        """An edit carries other arguments; "don't ask again" counts with a plain approval only."""
        ran = Recorder()
        talk = chat([says(call("deploy", n=1))], [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        edit = {"name": "deploy", "args": {"n": 2}}
        talk.answer("edit", edited_action=edit, remember="arguments")
        assert "remember" in talk.request.error
        talk.answer("edit", edited_action=edit)
        assert ran.runs == [("deploy", {"n": 2})]
        assert talk.rules == []


class TestTakingAnApprovalBack:
    """It carries no memory of its own, and the person is told so."""

    @pytest.mark.parametrize("remember", ["arguments", None])
    @pytest.mark.parametrize("through", ["the gate", "a resume"])
    def test_nothing_is_remembered_of_it_and_that_is_said(
        self, asynchronous: bool, through: str, remember: str | None
    ) -> None:
        ran = Recorder()
        script = [says(call("deploy", n=1), call("deploy", n=2)), OK, says(call("deploy", "again", n=1))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        answer = reject(talk.request.request_id, remember=remember)
        talk.answer("approve", remember="arguments")
        if through == "the gate":
            told = give(talk, answer).detail
        else:
            talk.resume(answer)
            told = talk.request.error
        assert "taken back" in told
        assert ("othing is remembered" in told) is (remember is not None)
        while talk.requests:
            talk.answer("reject")
        assert (talk.rules, ran.runs) == ([], [])
        talk.say("another run")
        assert talk.request.tool_call_id == "again"


class TestDeclaredTypes:
    """Where the tool declares an integer, `"5"` and `5` are one call."""

    def tool(self, ran: Recorder) -> BaseTool:
        def deploy(n: int, where: str = "here") -> str:
            """Deploy."""
            ran.runs.append(("deploy", {"n": n, "where": where}))
            return "deployed"

        return with_profile(StructuredTool.from_function(deploy), ASKED)

    @pytest.mark.parametrize(("first", "second"), [("5", 5), (5, "5")])
    def test_text_and_number_are_one_call(self, asynchronous: bool, first: Any, second: Any) -> None:
        """shown as 5, remembered as 5. A default filled in is part of the arguments."""
        ran = Recorder()
        script = [
            says(call("deploy", n=first)),
            OK,
            says(call("deploy", n=second, where="here")),
            says(call("deploy", n=6)),
        ]
        talk = chat(script, [self.tool(ran)], asynchronous=asynchronous)
        talk.say()
        assert talk.request.arguments == {"n": 5, "where": "here"}
        assert type(talk.request.arguments["n"]) is int
        talk.answer("approve", remember="arguments")
        assert [rule.arguments for rule in talk.rules] == [{"n": 5, "where": "here"}]
        talk.say("again")
        assert talk.request.arguments == {"n": 6, "where": "here"}
        assert ran.runs == [("deploy", {"n": 5, "where": "here"})] * 2

    def test_denied_as_the_number(self, asynchronous: bool) -> None:
        """denied as 5: a deny on `5` also catches `"5"`, and another value for the default is another call."""
        ran = Recorder()
        later = says(call("deploy", "text", n="5"), call("deploy", "elsewhere", n=5, where="there"))
        talk = chat([says(call("deploy", n=5)), OK, later], [self.tool(ran)], asynchronous=asynchronous).taught(
            kind="reject"
        )
        talk.say("again")
        assert talk.request.tool_call_id == "elsewhere"
        talk.answer("approve")
        assert "must not be made" in talk.result("text")
        assert ran.runs == [("deploy", {"n": 5, "where": "there"})]


OFFERS_ARGUMENTS = {("arguments", "thread"), ("arguments", "run")}
OFFERS_BOTH = OFFERS_ARGUMENTS | {("tool", "thread"), ("tool", "run")}


@pytest.mark.parametrize(
    ("profile", "arguments", "offers"),
    [
        (ToolProfile(tier=Tier.ROUTINE), {}, OFFERS_BOTH),
        (ToolProfile(tier=Tier.CONSEQUENTIAL), {}, OFFERS_ARGUMENTS),
        (None, {}, OFFERS_ARGUMENTS),
        (ToolProfile(tier=Tier.CONSEQUENTIAL, standing="tool"), {}, OFFERS_BOTH),
        (ToolProfile(tier=Tier.ROUTINE, standing="arguments"), {}, OFFERS_ARGUMENTS),
        (ToolProfile(tier=Tier.ROUTINE, standing="never"), {}, set()),
        (ToolProfile(tier=Tier.ROUTINE), {"to": "ann\u202e"}, set()),
        (ToolProfile(tier=Tier.ROUTINE), {"to": "x" * 30_000}, set()),
        (ToolProfile(tier=Tier.ROUTINE, input_schema={"type": "object", "properties": {"to": {}}}), {}, set()),
    ],
    ids=[
        "routine", "consequential", "unclassified", "consequential that says so", "routine that says arguments",
        "never", "shown with a warning", "too long to show", "typed input",
    ],
)  # fmt: skip
def test_what_may_be_remembered_depends_on_tier_profile_and_warnings(
    asynchronous: bool, profile: ToolProfile | None, arguments: dict[str, Any], offers: set[tuple[str, str]]
) -> None:
    """ "This tool" is not offered for consequential tools, and nothing is for `standing="never"` or where something
    was hidden; what is not offered is not remembered."""
    ran = Recorder()
    talk = chat([says(call("deploy", **arguments))], [ran.tool("deploy", profile)], asynchronous=asynchronous)
    talk.say()
    assert {(offer.what, offer.scope) for offer in talk.request.remember} == offers
    for what in ("arguments", "tool"):
        if (what, "thread") not in offers:
            talk.answer("approve", remember=what)
            assert "not offered" in talk.request.error
    talk.answer("reject")
    assert ran.names == []
    assert talk.rules == []
