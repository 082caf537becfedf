"""Standing rules of scope `user`: whose they are, where they hold, what ends them. Both worlds, real agents."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.agent.talking import Talk
from tests.agent.talking import talk as gated
from tests.support import Chat, Clock, Recorder, call, chat, says, waited_for
from toolgate_langchain import Caller, InMemoryLedger, StandingRule, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.run_state import RULES, write_rules

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
READ = ToolProfile(tier=Tier.READ_ONLY)
OK = AIMessage("ok")
EVERYWHERE = {"what": "arguments", "scope": "user"}


class House:
    """Users who talk to agents of one kind, on threads of one checkpointer, with one ledger; each gate is a worker."""

    def __init__(self, asynchronous: bool) -> None:
        self.ran, self.saver, self.ledger, self.clock = Recorder(), InMemorySaver(), InMemoryLedger(), Clock()
        self.asynchronous, self.worker = asynchronous, self.another_worker()

    def another_worker(self, **options: Any) -> ToolGate:
        return ToolGate(ledger=self.ledger, clock=self.clock, **options)

    def chat(
        self, caller: str | None, thread: str, *script: AIMessage, gate: ToolGate | None = None, **more: Any
    ) -> Chat:
        options = {"profile": ROUTINE, "schema": None, **more}
        tool = self.ran.tool("deploy", options.pop("profile"), schema=options.pop("schema"))
        return chat(
            script or [says(call("deploy", n=1))],
            [tool],
            gate=gate or self.worker,
            checkpointer=self.saver,
            thread=thread,
            asynchronous=self.asynchronous,
            caller=None if caller is None else Caller(caller),
            **options,
        )

    def taught(self, remember: Any = EVERYWHERE, kind: str = "approve", caller: str = "ann", **more: Any) -> Chat:
        """`ann` says "don't ask again" on a thread of hers."""
        return self.chat(caller, "first", **more).taught(remember, kind)

    def asked(self, caller: str | None, thread: str, *script: AIMessage, **more: Any) -> bool:
        """Whether a user is asked about the call on a thread."""
        talk = self.chat(caller, thread, *script, **more)
        talk.say()
        return bool(talk.requests)

    @property
    def rules(self) -> Sequence[StandingRule]:
        return self.worker.rules()


@pytest.fixture
def house(asynchronous: bool) -> House:
    return House(asynchronous)


class TestReach:
    """`user` reaches that user's other threads only."""

    def test_it_reaches_the_users_other_threads_and_nobody_elses(self, house: House) -> None:
        house.taught()
        assert not house.asked("ann", "second")
        assert house.asked("ben", "third")
        assert house.asked(None, "fourth")
        assert house.ran.count("deploy") == 2

    def test_it_reaches_every_worker(self, house: House) -> None:
        house.taught()
        assert not house.asked("ann", "second", gate=house.another_worker())

    def test_it_holds_on_its_own_thread_and_in_the_turn_in_which_it_is_made(self, house: House) -> None:
        script = [says(call("deploy", n=1), call("deploy", n=1)), OK, says(call("deploy", n=1))]
        talk = house.chat("ann", "first", *script).taught(EVERYWHERE)
        talk.say("again")
        assert (talk.requests, house.ran.count("deploy")) == ([], 3)

    def test_it_holds_for_its_arguments_alone(self, house: House) -> None:
        house.taught()
        assert house.asked("ann", "second", says(call("deploy", n=2)))
        assert house.asked("ann", "third", says(call("deploy", n=1.0)))

    def test_for_the_tool_it_holds_for_any_arguments(self, house: House) -> None:
        house.taught({"what": "tool", "scope": "user"})
        assert not house.asked("ann", "second", says(call("deploy", n=2)))

    def test_it_does_not_hold_on_another_surface(self, house: House) -> None:
        house.taught()
        assert house.asked("ann", "second", surface="cli")

    @pytest.mark.parametrize(
        "changed", [{"profile": ToolProfile(tier=Tier.CONSEQUENTIAL)}, {"schema": {"type": "object", "title": "other"}}]
    )
    def test_it_dies_when_the_tools_tier_or_definition_changes(self, house: House, changed: dict[str, Any]) -> None:
        house.taught()
        talk = house.chat("ann", "second", **changed)
        talk.say()
        assert any("is void" in note for note in talk.request.notes)

    def test_it_is_in_the_ledger_and_in_no_state(self, house: House) -> None:
        talk = house.taught()
        assert talk.rules == []
        assert RULES not in talk.agent.get_state(talk.config).values
        (rule,) = house.rules
        assert (rule.scope, rule.caller, rule.arguments, rule.request_id) == ("user", "ann", {"n": 1}, rule.request_id)


class TestDenies:
    """A person may forbid in all conversations as well; it holds for this user, also for what needs nobody."""

    def test_what_a_user_forbade_is_refused_on_their_other_threads_without_a_question(self, house: House) -> None:
        house.taught(kind="reject")
        talk = house.chat("ann", "second", says(call("deploy", "c", n=1)))
        talk.say()
        assert talk.requests == []
        assert "was not executed" in talk.result("c")
        assert house.asked("ben", "third")
        assert house.ran.runs == []

    def test_it_holds_also_where_the_tool_needs_nobody_by_now(self, house: House) -> None:
        """Calls that nobody is asked about take a short way past the ledger, which must not lead past this."""
        assert not house.asked("ann", "before", profile=READ)
        house.taught(kind="reject")
        talk = house.chat("ann", "second", says(call("deploy", "c", n=1)), profile=READ)
        talk.say()
        assert "was not executed" in talk.result("c")
        assert not house.asked("ben", "third", profile=READ)
        assert house.ran.count("deploy") == 2


class TestOffers:
    """It is offered only where a caller is known, and where exact memory may be offered at all."""

    def scopes(self, house: House, caller: str | None, **more: Any) -> list[tuple[str, str]]:
        talk = house.chat(caller, "offers", **more)
        talk.say()
        return [(offer.what, offer.scope) for offer in talk.request.remember]

    def test_with_a_caller_it_is_offered_beside_the_others(self, house: House) -> None:
        assert [scope for _, scope in self.scopes(house, "ann")] == ["thread", "run", "user"] * 2

    def test_without_a_caller_it_is_not(self, house: House) -> None:
        assert [scope for _, scope in self.scopes(house, None)] == ["thread", "run"] * 2

    def test_for_a_consequential_tool_only_with_its_exact_arguments(self, house: House) -> None:
        offered = self.scopes(house, "ann", profile=ToolProfile(tier=Tier.CONSEQUENTIAL))
        assert offered == [("arguments", "thread"), ("arguments", "run"), ("arguments", "user")]

    def test_where_nothing_may_be_remembered_it_is_not(self, house: House) -> None:
        assert self.scopes(house, "ann", profile=ToolProfile(tier=Tier.ROUTINE, standing="never")) == []

    @pytest.mark.parametrize("kind", ["approve", "reject"])
    def test_what_is_not_offered_is_refused_and_asked_again(self, house: House, kind: str) -> None:
        talk = house.chat(None, "nobody")
        talk.say()
        talk.answer(kind, remember=EVERYWHERE)
        assert "remembering arguments (user) is not offered here" in talk.request.error
        assert house.rules == ()

    def test_it_says_in_full_what_it_will_remember_and_on_which_conversations_it_holds(self, house: House) -> None:
        talk = house.chat("ann\u202e", "offers", says(call("deploy", to="prod", n=1)))
        talk.say()
        offers = {(offer.what, offer.scope): offer.text for offer in talk.request.remember}
        until = "until the rule is revoked or the tool (local) changes"
        where = f"in every conversation of ann\\u{{202e}} on the surface chat, {until}"
        assert offers["arguments", "user"] == f'Always allow deploy with exactly {{"n":1,"to":"prod"}} {where}'
        assert offers["tool", "user"] == f"Always allow deploy with any arguments {where}"


class TestTheEnd:
    def test_a_rule_in_the_past_does_not_match_and_is_shown_as_expired(self, house: House) -> None:
        house.taught({**EVERYWHERE, "expires_in": 3600})
        house.clock.forward(minutes=59)
        assert not house.asked("ann", "second")
        house.clock.forward(minutes=1)
        talk = house.chat("ann", "third")
        talk.say()
        assert any("expired at 2026-01-02 04:04" in note for note in talk.request.notes)
        (rule,) = house.rules
        assert rule.expires_at == Clock().now + timedelta(hours=1)
        assert rule.expired(house.clock.now)

    def test_a_revocation_holds_from_the_next_decision_of_every_worker(self, house: House) -> None:
        house.taught()
        other = house.another_worker()
        assert not house.asked("ann", "second", gate=other)
        assert house.worker.revoke(house.rules[0], by="ann") is True
        assert house.asked("ann", "third", gate=other)
        assert house.asked("ann", "fourth")

    def test_it_beats_a_copy_in_a_state(self, house: House) -> None:
        house.taught()
        (rule,) = house.rules
        talk = house.chat("ann", "second", OK, says(call("deploy", n=1)))
        talk.say()
        copied = {RULES: write_rules((rule,))}
        talk.agent.update_state(talk.config, copied, as_node="ToolGateMiddleware.before_agent")
        house.worker.revoke(rule)
        talk.say("again")
        assert talk.request.tool_name == "deploy"

    def test_revoked_while_its_turn_is_still_asked_about_it_releases_nothing_and_is_not_made_again(
        self, house: House
    ) -> None:
        """The node is replayed with the next answer, and takes the answer that made the rule in once more."""
        turn = says(call("deploy", "a", n=1), call("deploy", "same", n=1), call("deploy", "c", n=2))
        talk = house.chat("ann", "first", turn)
        talk.say()
        talk.answer("approve", remember=EVERYWHERE)
        assert talk.request.tool_call_id == "c"
        house.worker.revoke(house.rules[0])
        talk.answer("approve")
        assert talk.requests == []
        assert sorted(arguments["n"] for _, arguments in house.ran.runs) == [1, 2]
        assert "was not executed" in talk.result("same")
        assert house.rules == ()
        assert house.asked("ann", "second")

    def test_an_approval_that_is_taken_back_leaves_no_rule(self, house: House) -> None:
        talk = house.chat("ann", "first", says(call("deploy", n=1), call("deploy", n=2)))
        talk.say()
        first = talk.request.request_id
        talk.answer("approve", remember=EVERYWHERE)
        assert len(house.rules) == 1
        talk.answer("reject", request_id=first)
        assert house.rules == ()
        talk.answer("approve")
        assert house.rules == ()
        assert house.asked("ann", "second")

    def test_the_same_remember_twice_is_one_rule(self, house: House) -> None:
        """Two conversations wait for the same answer, and both get it; the rule ends when it was last said."""
        talks = [house.chat("ann", thread) for thread in ("first", "second")]
        for talk in talks:
            talk.say()
        for talk in talks:
            house.clock.forward(hours=1)
            talk.answer("approve", remember={**EVERYWHERE, "expires_in": 7200})
        (rule,) = house.rules
        assert rule.expires_at == Clock().now + timedelta(hours=4)
        assert house.worker.revoke(rule) is True
        assert house.asked("ann", "third")

    def test_a_rule_of_the_thread_is_revoked_too_wherever_it_lies(self, house: House) -> None:
        talk = house.chat("ann", "first", says(call("deploy", n=1)), OK, says(call("deploy", n=1)), OK).taught()
        (rule,) = talk.rules
        assert talk.gate.revoke(rule) is True
        talk.say("again")
        assert talk.request.tool_name == "deploy"

    def test_a_rule_in_a_state_is_revoked_also_in_a_process_whose_ledger_knows_nothing_of_it(
        self, house: House
    ) -> None:
        house.chat("ann", "first", says(call("deploy", n=1)), OK).taught()
        house.ledger = InMemoryLedger()
        talk = house.chat("ann", "first", says(call("deploy", n=1)), gate=house.another_worker())
        (rule,) = talk.gate.rules(agent=talk.agent, config=talk.config)
        assert talk.gate.revoke(str(rule.request_id)) is False
        assert talk.gate.revoke(rule) is True
        talk.say("again")
        assert talk.request.tool_name == "deploy"

    def test_a_deny_of_the_thread_that_is_said_again_after_it_was_revoked_holds(self, house: House) -> None:
        """The revoked one, which would have ended later, does not stand in its way."""
        no = {"what": "arguments", "scope": "thread"}
        script = [
            says(call("deploy", "a", n=1)),
            OK,
            says(call("deploy", "b", n=1)),
            OK,
            says(call("deploy", "c", n=1)),
        ]
        talk = house.chat("ann", "first", *script).taught(no, "reject")
        talk.gate.revoke(talk.rules[0])
        talk.say("again")
        talk.answer("reject", remember={**no, "expires_in": 3600})
        talk.say("and again")
        assert talk.requests == []
        assert "was not executed" in talk.result("c")
        assert [rule.expires_at for rule in talk.rules] == [house.clock.now + timedelta(hours=1)]


class TestListing:
    @staticmethod
    def ask(house: House, *given: Any, **named: Any) -> tuple[StandingRule, ...]:
        if not house.asynchronous:
            return house.worker.rules(*given, **named)
        found: tuple[StandingRule, ...] = waited_for(house.worker.arules(*given, **named))
        return found

    def test_each_user_or_all(self, house: House) -> None:
        house.taught()
        house.chat("ben", "second").taught({"what": "tool", "scope": "user"})
        for whose in ("ann", Caller("ann")):
            assert [rule.caller for rule in self.ask(house, whose)] == ["ann"]
        assert [rule.caller for rule in self.ask(house)] == ["ann", "ben"]
        assert self.ask(house, "cleo") == ()

    def test_those_of_a_thread_come_from_its_state_and_the_ledger(self, house: House) -> None:
        turn = says(call("deploy", n=1), call("deploy", n=2), call("deploy", n=3))
        talk = house.chat("ann", "first", turn)
        talk.say()
        talk.answer("approve", remember="arguments")
        talk.answer("approve", remember=EVERYWHERE)
        waiting = [rule.arguments for rule in self.ask(house, agent=talk.agent, config=talk.config)]
        talk.answer("approve", remember={"what": "arguments", "scope": "run"})
        settled = self.ask(house, agent=talk.agent, config=talk.config)
        assert (waiting, [rule.arguments for rule in settled]) == ([{"n": 1}], [{"n": 1}, {"n": 3}])
        both = self.ask(house, "ann", agent=talk.agent, config=talk.config)
        assert [rule.scope for rule in both] == ["thread", "run", "user"]
        house.worker.revoke(settled[0])
        assert self.ask(house, agent=talk.agent, config=talk.config) == settled[1:]

    def test_what_cannot_be_looked_up_is_an_error(self, house: House) -> None:
        with pytest.raises(ConfigurationError, match="pass the config"):
            self.ask(house, agent=house.chat("ann", "first").agent)
        with pytest.raises(ConfigurationError, match="names no thread"):
            self.ask(house, config={})

    def test_revoking_says_whether_there_was_such_a_rule(self, house: House) -> None:
        house.taught()
        (rule,) = house.rules
        for given, was in ((rule, True), (str(rule.request_id), True), ("another", False)):
            gate = house.worker
            assert (waited_for(gate.arevoke(given)) if house.asynchronous else gate.revoke(given)) is was
        with pytest.raises(ConfigurationError, match="names no request"):
            house.worker.revoke(
                StandingRule(tool_name="t", fingerprint="f", surface="chat", created_at=house.clock.now)
            )


def test_without_a_thread_it_is_the_only_one_that_outlives_the_run(asynchronous: bool) -> None:
    """A `GatedAgent` in a conversation that has no name: what the user said everywhere is in the ledger."""
    ran, gate = Recorder(), ToolGate()

    def ask(caller: str) -> Talk:
        more: Any = {"asynchronous": asynchronous, "gate": gate, "caller": Caller(caller)}
        return gated([says(call("deploy", n=1)), OK], [ran.tool("deploy", ROUTINE)], ran, **more).say()

    first = ask("ann")
    assert [(one.what, one.scope) for one in first.request.remember if one.what == "arguments"] == [
        ("arguments", "run"),
        ("arguments", "user"),
    ]
    first.answer("approve", remember=EVERYWHERE)
    assert (ask("ann").done, ask("ben").done) == (True, False)
    gate.revoke(gate.rules("ann")[0])
    assert not ask("ann").done
    assert ran.count("deploy") == 2
