"""What arrives between a release and its call: whatever was released before is held to it, at the last step as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, Recorder, Turn, call, chat, says
from toolgate_langchain import Caller, InMemoryLedger, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
MARKED = ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)
EVERYWHERE = {"what": "tool", "scope": "user"}


class House:
    """Agents of one user behind gates that share a ledger, on threads of one checkpointer."""

    def __init__(self, *, asynchronous: bool) -> None:
        self.ran, self.asynchronous = Recorder(), asynchronous
        self.saver, self.ledger = InMemorySaver(), InMemoryLedger()

    def agent(
        self, *script: Turn, thread: str = "thread", profiles: dict[str, ToolProfile] | None = None, **more: Any
    ) -> Chat:
        kinds = {"look": READ, "save": ROUTINE, "send": SEND, **(profiles or {})}
        options = {"agent": more.pop("agent")} if "agent" in more else {}
        return chat(
            script,
            [self.ran.tool(name, profile) for name, profile in kinds.items()],
            gate=ToolGate(ledger=self.ledger, **more),
            checkpointer=self.saver,
            thread=thread,
            caller=Caller("ann"),
            asynchronous=self.asynchronous,
            **options,
        )

    def says_never(self, name: str) -> None:
        """The same user says "never this tool" on another thread."""
        marked = {name: ToolProfile(tier=Tier.ROUTINE, requires_approval=True)}
        self.agent(says(call(name)), thread="elsewhere", profiles=marked).taught(EVERYWHERE, "reject")

    def says_always(self, name: str) -> str:
        """The same user says "always this tool" on another thread; gives the id of what was answered."""
        talk = self.agent(says(call(name)), thread="before")
        talk.say()
        request_id = talk.request.request_id
        talk.answer("approve", remember=EVERYWHERE)
        self.ran.runs.clear()
        return request_id


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def house(request: pytest.FixtureRequest) -> House:
    return House(asynchronous=bool(request.param))


def denies(name: str) -> Callable[[ArgumentView], PolicyAnswer]:
    return lambda view: PolicyAnswer(Verdict.DENY if view.name == name else Verdict.ALLOW)


class TestWhileASiblingIsPending:
    """A marker, a deny, a raised tier, a revocation or the stop switch that arrives while a sibling is pending → the
    already released call of that turn is held to it."""

    TURN = says(call("look", "released"), call("send", "pending"))

    def waits(self, house: House) -> None:
        talk = house.agent(self.TURN)
        talk.say()
        assert (talk.request.tool_call_id, talk.request.of, house.ran.names) == ("pending", 1, [])

    def test_where_nothing_arrives_both_run(self, house: House) -> None:
        """The positive control."""
        self.waits(house)
        house.agent().answer()
        assert sorted(house.ran.names) == ["look", "send"]

    @pytest.mark.parametrize(
        "profile", [MARKED, SEND, ToolProfile()], ids=["a marker", "a raised tier", "no classification any more"]
    )
    def test_a_marker_or_a_raised_tier(self, house: House, profile: ToolProfile) -> None:
        """Nothing joins an open queue: it is refused as changed, and asked about when it is proposed again."""
        self.waits(house)
        talk = house.agent(says(call("look", "again")), profiles={"look": profile})
        talk.answer()
        assert house.ran.names == ["send"]
        assert "no longer the same" in talk.result("released")
        assert talk.request.tool_call_id == "again"

    def test_a_deny_of_the_operator(self, house: House) -> None:
        self.waits(house)
        talk = house.agent(argument_policies=[denies("look")])
        talk.answer()
        assert house.ran.names == ["send"]
        assert "not permitted" in talk.result("released")

    def test_a_deny_of_the_user(self, house: House) -> None:
        self.waits(house)
        house.says_never("look")
        talk = house.agent()
        talk.answer()
        assert house.ran.names == ["send"]
        assert "must not be made" in talk.result("released")

    def test_the_stop_switch(self, house: House) -> None:
        self.waits(house)
        house.ledger.stop()
        talk = house.agent()
        talk.answer()
        assert house.ran.names == []
        assert "stopped" in talk.result("released")

    @pytest.mark.parametrize("revoked", [False, True], ids=["it holds", "it was revoked"])
    def test_the_revocation_of_the_rule_that_released_it(self, house: House, revoked: bool) -> None:
        rule = house.says_always("save")
        talk = house.agent(says(call("save", "released"), call("send", "pending")), says(call("save", "again")))
        talk.say()
        assert (talk.request.tool_call_id, talk.request.of) == ("pending", 1)
        if revoked:
            assert talk.gate.revoke(rule) is True
        talk.answer()
        if revoked:
            assert house.ran.names == ["send"]
            assert "no longer the same" in talk.result("released")
            assert talk.request.tool_call_id == "again"
        else:
            assert sorted(house.ran.names) == ["save", "save", "send"]


class TestBetweenAnswerAndExecution:
    """Kill switch, new deny between answer and execution → refused at the last step."""

    def answered(self, house: House) -> None:
        talk = house.agent(says(call("send", "s")), agent={"interrupt_before": ["tools"]})
        talk.say()
        talk.answer()
        assert (talk.requests, house.ran.names) == ([], [])

    def test_where_nothing_arrives_it_runs(self, house: House) -> None:
        """The positive control."""
        self.answered(house)
        house.agent().invoke(None)
        assert house.ran.names == ["send"]

    def test_the_kill_switch(self, house: House) -> None:
        self.answered(house)
        house.ledger.stop()
        talk = house.agent()
        talk.invoke(None)
        assert (house.ran.names, "stopped" in talk.result("s")) == ([], True)

    def test_a_new_deny_of_the_operator(self, house: House) -> None:
        self.answered(house)
        talk = house.agent(argument_policies=[denies("send")])
        talk.invoke(None)
        assert (house.ran.names, "not permitted" in talk.result("s")) == ([], True)

    def test_a_new_deny_of_the_user(self, house: House) -> None:
        self.answered(house)
        house.says_never("send")
        talk = house.agent()
        talk.invoke(None)
        assert (house.ran.names, "must not be made" in talk.result("s")) == ([], True)

    def test_a_group_that_was_switched_off(self, house: House) -> None:
        self.answered(house)
        talk = house.agent(profiles={"send": ToolProfile(tier=Tier.CONSEQUENTIAL, groups=frozenset({"mail"}))})
        talk.gate.catalog.switch_group("mail", on=False)
        talk.invoke(None)
        assert (house.ran.names, "not permitted" in talk.result("s")) == ([], True)
