"""Standing rules: what "don't ask again" releases later, and everything that it does not."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.behaviours.processes import Processes
from tests.support import Chat, Recorder, call, chat, says, with_profile
from toolgate_langchain import RemoteServer, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.hosts.run_state import RULES, read_rules
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer

ASKED = ToolProfile(tier=Tier.ROUTINE)
OK = AIMessage("ok")


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def taught(talk: Chat, remember: Any = "arguments", kind: str = "approve") -> Chat:
    """Let the first turn be asked about and answered with "don't ask again"."""
    talk.say()
    talk.answer(kind, remember=remember)
    assert talk.requests == []
    return talk


def rules_of(talk: Chat) -> list[Any]:
    return list(read_rules(talk.agent.get_state(talk.config).values.get(RULES)))


class TestExactArguments:
    """(Parameters declared without a type, so that nothing is coerced.) Remember arguments `{"a": 1, "b": {"x":
    [1, 2], "y": null}}`."""

    REMEMBERED: Mapping[str, Any] = {"a": 1, "b": {"x": [1, 2], "y": None}}

    def later(self, arguments: Mapping[str, Any], asynchronous: bool) -> tuple[Chat, Recorder]:
        ran = Recorder()
        script = [says(call("deploy", **self.REMEMBERED)), OK, says(call("deploy", **arguments))]
        talk = taught(chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous))
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
        talk = taught(chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous))
        talk.say("again")
        assert talk.request.arguments == {"a": 1, "b": None}


def test_nothing_remembered_is_only_a_call_with_nothing(asynchronous: bool) -> None:
    """`{}` remembered, later a call with arguments → asked; later `{}` → not asked."""
    ran = Recorder()
    script = [says(call("deploy")), OK, says(call("deploy")), OK, says(call("deploy", n=1))]
    talk = taught(chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous))
    talk.say("again")
    assert talk.requests == []
    assert ran.count("deploy") == 2
    talk.say("with arguments")
    assert talk.request.arguments == {"n": 1}


def test_a_tool_wide_rule_is_for_any_arguments(asynchronous: bool) -> None:
    """Tool-wide rule → any arguments."""
    ran = Recorder()
    script = [says(call("deploy")), OK, says(call("deploy", n=1), call("deploy", n=[None])), says(call("restart"))]
    talk = taught(
        chat(script, [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)], asynchronous=asynchronous), "tool"
    )
    talk.say("again")
    assert talk.request.tool_name == "restart"
    assert ran.count("deploy") == 3


class TestOrigin:
    """A rule for a tool of server A does not cover the same name from server B, nor a local tool of that name."""

    def gate(self, server: str | None, tool: BaseTool) -> ToolGate:
        catalog = ToolCatalog()
        if server is None:
            catalog.register(tool, ASKED)
        else:
            assert catalog.add_remote(RemoteServer(server, profiles={tool.name: ASKED}), [tool]) == ()
        return ToolGate(catalog)

    @pytest.mark.parametrize("remember", ["arguments", "tool"])
    def test_only_the_server_it_was_made_for(self, asynchronous: bool, remember: str) -> None:
        ran, saver = Recorder(), InMemorySaver()
        tool = ran.tool("deploy")

        def again(server: str | None) -> Chat:
            script = [says(call("deploy"))]
            return chat(script, [tool], gate=self.gate(server, tool), checkpointer=saver, asynchronous=asynchronous)

        taught(again("a"), remember)
        for other in ("b", None):
            talk = again(other)
            talk.say("again")
            assert talk.request.origin == ("server:b" if other else "local")
        talk = again("a")
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 2


class TestAnswers:
    def test_a_rejected_answer_that_also_says_remember_makes_no_allow_rule(self, asynchronous: bool) -> None:
        """A rejected answer that also says "remember" → no allow rule. A "remember: deny" → the next such call is
        refused without a question."""
        ran = Recorder()
        script = [says(call("deploy", n=1)), OK, says(call("deploy", "same", n=1), call("deploy", "other", n=2))]
        talk = taught(chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous), kind="reject")
        assert [rule.effect for rule in rules_of(talk)] == ["deny"]
        talk.say("a new run, which knows nothing of the rejection itself")
        assert talk.request.tool_call_id == "other"
        talk.answer("approve")
        assert ran.runs == [("deploy", {"n": 2})]
        assert "must not be made" in talk.result("same")

    def test_a_tool_wide_deny_refuses_any_call_without_a_question(self, asynchronous: bool) -> None:
        """A "remember: deny" of a whole tool → the next such call is refused without a question, whatever allows."""
        ran = Recorder()
        script = [says(call("deploy", n=1)), OK, says(call("deploy", n=2)), OK, says(call("deploy", "c", n=1))]
        talk = taught(chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous))
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
        assert [rule.arguments for rule in rules_of(talk)] == [{"n": 1}]

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
        assert rules_of(talk) == []


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
        assert [rule.arguments for rule in rules_of(talk)] == [{"n": 5, "where": "here"}]
        talk.say("again")
        assert talk.request.arguments == {"n": 6, "where": "here"}
        assert ran.runs == [("deploy", {"n": 5, "where": "here"})] * 2

    def test_denied_as_the_number(self, asynchronous: bool) -> None:
        """denied as 5: a deny on `5` also catches `"5"`, and another value for the default is another call."""
        ran = Recorder()
        later = says(call("deploy", "text", n="5"), call("deploy", "elsewhere", n=5, where="there"))
        talk = taught(
            chat([says(call("deploy", n=5)), OK, later], [self.tool(ran)], asynchronous=asynchronous), kind="reject"
        )
        talk.say("again")
        assert talk.request.tool_call_id == "elsewhere"
        talk.answer("approve")
        assert "must not be made" in talk.result("text")
        assert ran.runs == [("deploy", {"n": 5, "where": "there"})]


class TestChangedTools:
    """The tool's schema, description, server command or tier changes → its rules are void; the next call asks and
    says why."""

    SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def local(self, ran: Recorder, *, tier: Tier = Tier.ROUTINE, schema: Any = SCHEMA) -> tuple[ToolGate, BaseTool]:
        return ToolGate(), ran.tool("deploy", ToolProfile(tier=tier, standing="tool"), schema=schema)

    def remote(
        self, ran: Recorder, *, description: str = "Deploys.", launch: Sequence[str] = ("run",)
    ) -> tuple[ToolGate, BaseTool]:
        catalog = ToolCatalog()
        tool = ran.tool("deploy", schema=self.SCHEMA).model_copy(update={"description": description})
        server = RemoteServer("a", launch=tuple(launch), profiles={"deploy": ToolProfile(tier=Tier.ROUTINE)})
        assert catalog.add_remote(server, [tool]) == ()
        return ToolGate(catalog), tool

    @pytest.mark.parametrize("remember", ["arguments", "tool"])
    @pytest.mark.parametrize(
        ("kind", "change", "why"),
        [
            ("local", {"schema": {"type": "object", "properties": {"n": {"type": "number"}}}}, "definition"),
            ("local", {"tier": Tier.CONSEQUENTIAL}, "tier"),
            ("remote", {"description": "Deploys. Harmless."}, "definition"),
            ("remote", {"launch": ["run", "--as-root"]}, "definition"),
        ],
        ids=["schema", "tier", "description", "server command"],
    )
    def test_its_rules_are_void_and_the_next_call_says_why(
        self, asynchronous: bool, kind: str, change: dict[str, Any], why: str, remember: str
    ) -> None:
        ran, saver = Recorder(), InMemorySaver()
        make: Callable[..., tuple[ToolGate, BaseTool]] = getattr(self, kind)

        def again(**changed: Any) -> Chat:
            gate, tool = make(ran, **changed)
            script = [says(call("deploy", n=1))]
            return chat(script, [tool], gate=gate, checkpointer=saver, asynchronous=asynchronous)

        taught(again(), remember)
        talk = again()
        talk.say("again")
        assert talk.requests == []
        talk = again(**change)
        talk.say("after the change")
        assert any("void" in note and f"{why} changed" in note for note in talk.request.notes)
        assert ran.count("deploy") == 2


class TestSurvival:
    """Rules survive: a new turn, a new process on the same thread, serialisation to JSON and back."""

    def test_a_new_turn(self, asynchronous: bool) -> None:
        """Rules survive a new turn of the same run."""
        ran = Recorder()
        taught(chat([says(call("deploy"))] * 3, [ran.tool("deploy", ASKED)], asynchronous=asynchronous))
        assert ran.count("deploy") == 3

    def test_serialisation_to_json_and_back(self, asynchronous: bool) -> None:
        """The rules of a thread, written as JSON text and put back into another thread, hold there."""
        ran, saver = Recorder(), InMemorySaver()
        tools = [ran.tool("deploy", ASKED)]
        talk = taught(chat([says(call("deploy"))], tools, checkpointer=saver, asynchronous=asynchronous))
        text = json.dumps(talk.agent.get_state(talk.config).values[RULES])
        other = chat([says(call("deploy"))], tools, checkpointer=saver, thread="other", asynchronous=asynchronous)
        start = "ToolGateMiddleware.before_agent"
        other.agent.update_state(other.config, {RULES: json.loads(text)}, as_node=start)
        other.say()
        assert other.requests == []
        assert ran.count("deploy") == 2

    def test_a_new_process_on_the_same_thread(self, asynchronous: bool, tmp_path: Path) -> None:
        """Rules survive a new process on the same thread. A rule in scope `thread` does not reach another thread."""
        processes = Processes(tmp_path / "thread.db", asynchronous)
        deploy = [("deploy", {"n": 1, "m": [1.0, None]}, "d")]
        assert processes.step(deploy)["request"]["tool"] == "deploy"
        assert processes.step(answer={"type": "approve", "remember": "arguments"})["ran"] == [list(deploy[0][:2])]
        again = processes.step(deploy)
        assert (again["request"], again["ran"]) == (None, [list(deploy[0][:2])])
        assert processes.step(deploy, thread="another")["request"]["tool"] == "deploy"


def test_a_rule_does_not_reach_another_thread(asynchronous: bool) -> None:
    """A rule in scope `thread` does not reach another thread."""
    ran, saver, gate = Recorder(), InMemorySaver(), ToolGate()
    tools = [ran.tool("deploy", ASKED)]
    taught(chat([says(call("deploy"))], tools, gate=gate, checkpointer=saver, asynchronous=asynchronous), "tool")
    other = chat(
        [says(call("deploy"))], tools, gate=gate, checkpointer=saver, thread="other", asynchronous=asynchronous
    )
    other.say()
    assert other.request.tool_name == "deploy"


def test_a_rule_of_a_run_ends_with_it(asynchronous: bool) -> None:
    """A rule in scope `run` holds in later turns of the run and not in the next run, also after it left the state."""
    ran = Recorder()
    script = [says(call("deploy")), says(call("deploy")), OK, says(call("deploy"))]
    talk = taught(
        chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous), {"what": "tool", "scope": "run"}
    )
    assert ran.count("deploy") == 2
    assert len(rules_of(talk)) == 1
    talk.say("a new run")
    assert talk.request.tool_name == "deploy"
    assert rules_of(talk) == []


@pytest.mark.parametrize(("other", "refused"), [("cli", False), ("cron", True)])
def test_a_rule_made_on_chat_does_not_release_calls_elsewhere(asynchronous: bool, other: str, refused: bool) -> None:
    """A rule made on surface `chat` does not release calls on `cron`, nor on another attended surface."""
    ran, saver, gate = Recorder(), InMemorySaver(), ToolGate()
    tools = [ran.tool("deploy", ToolProfile(tier=Tier.READ_ONLY, requires_approval=True))]

    def on(surface: str) -> Chat:
        script = [says(call("deploy", surface))]
        return chat(script, tools, gate=gate, checkpointer=saver, surface=surface, asynchronous=asynchronous)

    taught(on("chat"), "tool")
    talk = on(other)
    talk.say()
    assert len(talk.requests) == (0 if refused else 1)
    if refused:
        assert "nobody is there" in talk.result("cron")
    assert ran.count("deploy") == 1
    if refused:
        talk = on("chat")
        talk.say()
        assert ran.count("deploy") == 2


class TestWhatARuleNeverReleases:
    """A standing rule never releases what an argument policy says must be asked, nor anything denied."""

    @staticmethod
    def policy(view: ArgumentView) -> PolicyAnswer:
        answers = {1: Verdict.ASK, 2: Verdict.DENY}
        return PolicyAnswer(answers.get(view.arguments["n"], Verdict.ALLOW), "look at it")

    def test_what_an_argument_policy_says_must_be_asked(self, asynchronous: bool) -> None:
        """A standing rule never releases what an argument policy says must be asked, nor what it denies."""
        ran = Recorder()
        script = [says(call("deploy", n=0)), OK, says(call("deploy", "two", n=2), call("deploy", "one", n=1))]
        talk = chat(
            script,
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(argument_policies=[self.policy]),
            asynchronous=asynchronous,
        )
        taught(talk, "tool")
        talk.say("again")
        assert talk.request.tool_call_id == "one"
        assert talk.request.remember == ()
        talk.answer("approve", remember="tool")
        assert "not offered" in talk.request.error
        talk.answer("reject")
        assert ran.runs == [("deploy", {"n": 0})]
        assert "not executed" in talk.result("two")

    def test_what_a_sibling_made_a_rule_for_is_still_asked(self, asynchronous: bool) -> None:
        """Also not within the turn in which the rule is made."""
        ran = Recorder()
        turn = says(call("deploy", "zero", n=0), call("deploy", "one", n=1), call("deploy", "three", n=3))
        talk = chat(
            [turn],
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(argument_policies=[self.policy]),
            asynchronous=asynchronous,
        )
        talk.say()
        talk.answer("approve", remember="tool")
        assert talk.request.tool_call_id == "one"
        talk.answer("reject")
        assert talk.requests == []
        assert sorted(arguments["n"] for _, arguments in ran.runs) == [0, 3]

    def test_what_is_denied(self, asynchronous: bool) -> None:
        """Nor anything denied: a tool that was switched off after the rule was made."""
        ran = Recorder()
        tool = ran.tool("deploy", ASKED)
        gate = ToolGate(ToolCatalog.from_tools([tool]))
        talk = chat(
            [says(call("deploy")), OK, says(call("deploy", "off"))], [tool], gate=gate, asynchronous=asynchronous
        )
        taught(talk, "tool")
        gate.catalog.switch_tool("deploy", on=False)
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 1
        assert "not executed" in talk.result("off")

    def test_what_a_surface_denies(self, asynchronous: bool) -> None:
        """Nor what the surface has come to deny for the tool's tier."""
        ran, saver = Recorder(), InMemorySaver()
        tools = [ran.tool("deploy", ASKED)]

        def again(surface: Surface) -> Chat:
            gate = ToolGate(surfaces=[surface])
            return chat([says(call("deploy", "d"))], tools, gate=gate, checkpointer=saver, asynchronous=asynchronous)

        taught(again(Surface("chat")), "tool")
        talk = again(Surface("chat", routine=Verdict.DENY))
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 1


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
    assert rules_of(talk) == []


def test_an_approval_taken_back_leaves_no_rule_even_if_its_turn_is_superseded(asynchronous: bool) -> None:
    """An approval that was taken back leaves no rule behind, also where the turn never came to its end."""
    ran = Recorder()
    script = [says(call("deploy"), call("restart")), OK, says(call("deploy"))]
    talk = chat(script, [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)], asynchronous=asynchronous)
    talk.say()
    first = talk.request.request_id
    talk.answer("approve", remember="tool")
    withdrawn = talk.gate.answer(talk.agent, talk.config, {"type": "reject", "request_id": first})
    assert withdrawn.status == "withdrawn"
    talk.answer("approve", request_id="another")
    talk.say("something else instead")
    assert rules_of(talk) == []
    talk.say("again")
    assert talk.request.tool_name == "deploy"
    assert ran.names == []
