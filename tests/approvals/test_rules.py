"""Standing rules as values, looked up, and kept: at most 200 of a thread in its state, the others in the ledger."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from tests.support import Chat, Clock, Recorder, call, chat, says, with_profile
from toolgate_langchain import InMemoryLedger, StandingRule, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.rules import MAX_RULES_IN_STATE, RuleIndex, RuleView
from toolgate_langchain.hosts.engine.run_state import RULES, read_rules, write_rules

NOW = Clock().now
ASKED = ToolProfile(tier=Tier.ROUTINE)
OK = AIMessage("ok")


@dataclass(frozen=True)
class Tool:
    name: str = "deploy"
    origin: str = "local"
    fingerprint: str = "f"
    tier: Tier | None = Tier.ROUTINE


def rule(**fields: Any) -> StandingRule:
    given: dict[str, Any] = {
        "tool_name": "deploy", "fingerprint": "f", "tier": Tier.ROUTINE, "surface": "chat", "created_at": NOW,
    }  # fmt: skip
    return StandingRule(**{**given, **fields})


def view(*rules: StandingRule, **fields: Any) -> RuleView:
    given: dict[str, Any] = {"surface": "chat", "agent_path": (), "run_id": "run", "now": NOW}
    return RuleView(RuleIndex(rules), **{**given, **fields})


class TestJson:
    FULL = rule(
        arguments={"a": 1, "b": [1.0, None, {"x": True}]}, effect="deny", scope="run", origin="server:a",
        agent_path=("delegate",), run_id="run", request_id="r", created_by="ann",
        expires_at=NOW + timedelta(seconds=1),
    )  # fmt: skip

    @pytest.mark.parametrize("one", [FULL, rule(), rule(arguments={}), rule(tier=None)])
    def test_a_rule_comes_back_from_json_text_as_it_was(self, one: StandingRule) -> None:
        again = StandingRule.from_json(json.loads(json.dumps(one.to_json())))
        assert again == one
        assert again.identity == one.identity

    def test_numbers_keep_their_kind(self) -> None:
        """`1` and `1.0`, which JSON tells apart, are told apart afterwards."""
        whole, broken = (StandingRule.from_json(rule(arguments={"n": n}).to_json()) for n in (1, 1.0))
        assert whole.identity != broken.identity
        assert type((whole.arguments or {})["n"]) is int

    def test_the_json_form_names_its_fields_in_camel_case(self) -> None:
        """JSON form `{"toolName", "arguments", ...}`."""
        plain = self.FULL.to_json()
        assert plain["toolName"] == "deploy"
        assert plain["arguments"] == {"a": 1, "b": [1.0, None, {"x": True}]}
        assert {"createdBy", "createdAt", "expiresAt", "agentPath"} < set(plain)

    @pytest.mark.parametrize(
        "change",
        [
            {"effect": "ALLOW"}, {"scope": "everything"}, {"toolName": None}, {"toolName": 1}, {"arguments": []},
            {"arguments": "{}"}, {"tier": "harmless"}, {"extra": 1}, {"createdAt": "yesterday"}, {"fingerprint": None},
        ],
    )  # fmt: skip
    def test_anything_else_is_no_rule(self, change: dict[str, Any]) -> None:
        plain = {**rule().to_json(), **change}
        with pytest.raises(ValidationError):
            StandingRule.from_json(plain)
        good = rule(tool_name="restart")
        assert read_rules({"v": 1, "rules": [plain, good.to_json()]}) == (good,)

    @pytest.mark.parametrize("value", [None, [], "rules", {}, {"v": 2, "rules": [rule().to_json()]}, {"v": 1}])
    def test_a_state_that_cannot_be_read_holds_no_rule(self, value: Any) -> None:
        assert read_rules(value) == ()

    def test_all_rules_of_a_thread_come_back(self) -> None:
        rules = (rule(), self.FULL)
        assert read_rules(json.loads(json.dumps(write_rules(rules)))) == rules


class TestIndex:
    def test_of_two_rules_that_say_the_same_the_later_stays(self) -> None:
        """Duplicates collapse, whatever the order of their keys, and whoever made them."""
        first = rule(arguments={"a": 1, "b": 2}, created_by="ann")
        second = rule(arguments={"b": 2, "a": 1}, created_by="ben", request_id="r2")
        assert RuleIndex([first, second]).rules == (second,)

    @pytest.mark.parametrize(
        "other",
        [
            {"arguments": {}}, {"arguments": {"n": 1.0}}, {"effect": "deny"}, {"scope": "run", "run_id": "run"},
            {"origin": "server:a"}, {"fingerprint": "g"}, {"tier": Tier.CONSEQUENTIAL}, {"surface": "cli"},
            {"agent_path": ("delegate",)}, {"tool_name": "Deploy"}, {"arguments": {"n": 1}},
        ],
    )  # fmt: skip
    def test_rules_that_differ_in_anything_else_are_two(self, other: dict[str, Any]) -> None:
        """`arguments=None` is any call, `{}` only calls with no arguments; the two are never equal."""
        assert len(RuleIndex([rule(), rule(**other)]).rules) == 2

    def test_both_the_exact_and_the_tool_wide_rule_are_found(self) -> None:
        exact, wide = rule(arguments={"n": 1}, effect="deny"), rule()
        index = RuleIndex([exact, wide, rule(tool_name="restart"), rule(origin="server:a")])
        assert set(index_of(index, {"n": 1})) == {id(exact), id(wide)}
        assert set(index_of(index, {"n": 2})) == {id(wide)}
        assert list(index.matching(Tool(name="other"), {})) == []

    def test_a_look_up_touches_only_the_rules_of_its_arguments(self) -> None:
        """Looking one up costs the same with ten and with a hundred thousand: it meets one rule of them all."""
        rules = [rule(arguments={"n": n}) for n in range(2_000)]
        assert [one.arguments for one in RuleIndex(rules).matching(Tool(), {"n": 7})] == [{"n": 7}]


def index_of(index: RuleIndex, arguments: dict[str, Any]) -> list[int]:
    return [id(one) for one in index.matching(Tool(), arguments)]


class TestView:
    def test_a_rule_allows_and_says_what_and_by_whom(self) -> None:
        assert "exactly these arguments by ann" in str(view(rule(arguments={}, created_by="ann")).allows(Tool(), {}))
        assert "any call" in str(view(rule()).allows(Tool(), {"n": 1}))

    def test_an_allow_is_no_deny_and_a_deny_no_allow(self) -> None:
        assert view(rule()).denies(Tool(), {}) is None
        assert view(rule(effect="deny")).allows(Tool(), {}) is None
        assert view(rule(effect="deny")).denies(Tool(), {}) is not None

    @pytest.mark.parametrize(
        "elsewhere",
        [
            {"surface": "cli"}, {"agent_path": ("delegate",)}, {"scope": "run", "run_id": "earlier"},
            {"scope": "run", "run_id": None}, {"expires_at": NOW},
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("effect", ["allow", "deny"])
    def test_a_rule_for_elsewhere_or_of_the_past_does_not_match(self, elsewhere: dict[str, Any], effect: Any) -> None:
        one = rule(effect=effect, **elsewhere)
        assert view(one).allows(Tool(), {}) is None
        assert view(one).denies(Tool(), {}) is None

    def test_the_last_moment_before_it_expires_still_counts(self) -> None:
        one = rule(expires_at=NOW + timedelta(microseconds=1))
        assert view(one).allows(Tool(), {}) is not None
        assert view(one, now=NOW + timedelta(microseconds=1)).allows(Tool(), {}) is None

    @pytest.mark.parametrize("changed", [Tool(fingerprint="g"), Tool(tier=Tier.CONSEQUENTIAL), Tool(tier=None)])
    def test_an_allow_dies_with_the_definition_and_a_deny_does_not(self, changed: Tool) -> None:
        """A rule dies when the tool's fingerprint or tier changes; what a person forbade stays forbidden."""
        assert view(rule()).allows(changed, {}) is None
        assert view(rule()).void(changed, {}) is not None
        assert view(rule()).void(Tool(), {}) is None
        assert view(rule(effect="deny")).denies(changed, {}) is not None


class TestLimit:
    """At most 200 rules per thread sit in the state, further ones in the ledger."""

    def test_the_201st_rule_goes_to_the_ledger_and_holds(self) -> None:
        assert MAX_RULES_IN_STATE == 200
        ran, ledger = Recorder(), InMemoryLedger()
        again = says(call("deploy", n=0), call("deploy", n=199), call("deploy", n=200), call("deploy", n=201))
        turns = [says(call("deploy", n=0)), OK, says(call("deploy", n=199), call("deploy", n=200)), OK, again]
        talk = chat(turns, [ran.tool("deploy", ASKED)], gate=ToolGate(ledger=ledger))
        talk.say()
        talk.answer("approve", remember="arguments")
        (first,) = talk.rules
        most = tuple(replace(first, arguments={"n": n}) for n in range(199))
        talk.agent.update_state(talk.config, {RULES: write_rules(most)}, as_node="ToolGateMiddleware.before_agent")
        talk.say("two more")
        for _ in range(2):
            talk.answer("approve", remember="arguments")
        assert [rule.arguments for rule in talk.rules] == [{"n": n} for n in range(200)]
        assert [rule.arguments for rule in ledger.thread_rules(talk.thread)] == [{"n": 200}]
        talk.say("again")
        assert talk.request.arguments == {"n": 201}
        talk.answer("reject")
        assert ran.count("deploy") == 6
        assert len(talk.rules) == 200

    def test_what_becomes_free_in_the_state_is_taken_from_the_ledger(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rules of a run leave the state with it, and those that waited in the ledger move in."""
        few(monkeypatch, 2)
        ran, ledger = Recorder(), InMemoryLedger()
        turn = says(*[call("deploy", n=n) for n in range(4)])
        talk = chat(
            [turn, OK, says(call("deploy", n=3)), OK], [ran.tool("deploy", ASKED)], gate=ToolGate(ledger=ledger)
        )
        talk.say()
        for scope in ("run", "run", "thread", "thread"):
            talk.answer("approve", remember={"what": "arguments", "scope": scope})
        assert [rule.arguments for rule in talk.rules] == [{"n": 0}, {"n": 1}]
        assert len(ledger.thread_rules(talk.thread)) == 2
        talk.say("a new run")
        assert talk.requests == []
        assert [rule.arguments for rule in talk.rules] == [{"n": 2}, {"n": 3}]
        assert list(ledger.thread_rules(talk.thread)) == []

    def test_rules_of_a_run_die_with_it_in_the_ledger_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run's rules that found no room in the state hold until the run ends, and are then forgotten."""
        few(monkeypatch, 1)
        ran, ledger = Recorder(), InMemoryLedger()
        script = [
            says(call("deploy", n=0), call("deploy", n=1)), says(call("deploy", n=1)), OK, says(call("deploy", n=1)),
        ]  # fmt: skip
        talk = chat(script, [ran.tool("deploy", ASKED)], gate=ToolGate(ledger=ledger))
        talk.say()
        talk.answer("approve", remember="arguments")
        talk.answer("approve", remember={"what": "arguments", "scope": "run"})
        assert talk.requests == []
        assert ran.count("deploy") == 3
        talk.say("a new run")
        assert talk.request.arguments == {"n": 1}
        assert list(ledger.thread_rules(talk.thread)) == []


class TestSubagents:
    """A subagent shares the thread, not the state: rules of each stay where they can be found again."""

    @staticmethod
    def delegate(gate: ToolGate, ran: Recorder) -> BaseTool:
        def delegate(n: int) -> str:
            """Let another agent behind the same gate do it."""

            def turn(messages: Sequence[BaseMessage]) -> AIMessage:
                return AIMessage("did it") if isinstance(messages[-1], ToolMessage) else says(call("deploy", n=n))

            agent = chat([turn] * 5, [ran.tool("deploy", ASKED)], gate=gate).agent
            agent.checkpointer = None
            return str(agent.invoke({"messages": [HumanMessage("deploy")]})["messages"][-1].text)

        return with_profile(StructuredTool.from_function(delegate), ToolProfile(tier=Tier.READ_ONLY))

    def talk(self, script: Sequence[AIMessage], ran: Recorder, gate: ToolGate) -> Chat:
        tools = [self.delegate(gate, ran), ran.tool("deploy", ASKED)]
        return chat(script, tools, gate=gate, checkpointer=InMemorySaver())

    @pytest.mark.parametrize("scope", ["thread", "run"])
    def test_a_rule_made_in_a_subagent_holds_there_the_next_time(self, scope: str) -> None:
        ran = Recorder()
        script = [says(call("delegate", n=1)), says(call("delegate", n=1)), OK, says(call("delegate", n=1))]
        talk = self.talk(script, ran, ToolGate())
        talk.say()
        assert talk.request.agent_path == ("delegate",)
        talk.answer("approve", remember={"what": "arguments", "scope": scope})
        assert talk.requests == []
        assert ran.count("deploy") == 2
        talk.say("a new run")
        assert len(talk.requests) == (1 if scope == "run" else 0)

    def test_a_rule_made_in_a_subagent_is_not_the_roots(self) -> None:
        ran = Recorder()
        talk = self.talk([says(call("delegate", n=1)), says(call("deploy", n=1))], ran, ToolGate())
        talk.say()
        talk.answer("approve", remember="tool")
        assert (talk.request.tool_name, talk.request.agent_path) == ("deploy", ())

    @pytest.mark.parametrize("kind", ["approve", "reject"])
    def test_a_subagent_does_not_carry_the_roots_rules_away(self, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        """A rule of the root that waits in the ledger, above all a deny, is there after a subagent ran."""
        few(monkeypatch, 1)
        ran = Recorder()
        first = says(call("deploy", n=0), call("deploy", n=1))
        talk = self.talk([first, OK, says(call("delegate", n=7)), says(call("deploy", "late", n=1))], ran, ToolGate())
        talk.say()
        talk.answer("approve", remember="arguments")
        talk.answer(kind, remember="arguments")
        talk.say("a new run")
        assert talk.request.agent_path == ("delegate",)
        talk.answer("approve")
        assert talk.requests == []
        assert talk.result("late") == "ran deploy" if kind == "approve" else "must not be made" in talk.result("late")


def test_a_rule_keeps_the_time_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """`expires_in` counts from the answer; from that moment on the call is asked about, with the reason."""
    ran, clock = Recorder(), Clock()
    talk = chat([says(call("deploy")), OK, says(call("deploy")), OK, says(call("deploy"))],
                [ran.tool("deploy", ASKED)], gate=ToolGate(clock=clock))  # fmt: skip
    talk.say()
    talk.answer("approve", remember={"what": "arguments", "expires_in": 60})
    clock.forward(seconds=59.9)
    talk.say("in time")
    assert talk.requests == []
    clock.forward(seconds=0.1)
    talk.say("too late")
    assert any("expired" in note for note in talk.request.notes)
    assert [rule.expires_at for rule in talk.rules] == [NOW + timedelta(seconds=60)]


def few(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Let a state hold fewer rules, so that a test need not make hundreds."""
    for module in ("rules_of_threads", "base_turns"):
        monkeypatch.setattr(f"toolgate_langchain.hosts.engine.{module}.MAX_RULES_IN_STATE", limit)
