"""Operator deny or ask against a user's allow, a heuristic's yes, a skill's tool list, in all orders."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Caller, InMemoryLedger, RunConfiguration, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentPolicy, ArgumentView, PolicyAnswer
from toolgate_langchain.policy.caller import Skill

SAVE = ToolProfile(tier=Tier.ROUTINE)
SKILL = RunConfiguration(skills=(Skill("saving", ("save",)),))


def allows(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ALLOW, "fine")


def asks(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK, "look")


def denies(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY, "never")


class House:
    """One user's threads, and the operator's gates around them."""

    def __init__(self, *, asynchronous: bool) -> None:
        self.ran, self.asynchronous = Recorder(), asynchronous
        self.saver, self.ledger = InMemorySaver(), InMemoryLedger()

    def agent(self, thread: str, policies: tuple[ArgumentPolicy, ...], *, heuristic: bool, skill: bool) -> Chat:
        return chat(
            [says(call("save", "s"))],
            [self.ran.tool("save", SAVE)],
            gate=ToolGate(
                ledger=self.ledger, argument_policies=policies, heuristics=[lambda *_: True] if heuristic else []
            ),
            checkpointer=self.saver,
            thread=thread,
            caller=Caller("ann"),
            configuration=SKILL if skill else None,
            asynchronous=self.asynchronous,
        )

    def user_allows(self) -> None:
        self.agent("earlier", (), heuristic=False, skill=False).taught({"what": "tool", "scope": "user"})
        self.ran.runs.clear()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def house(request: pytest.FixtureRequest) -> House:
    return House(asynchronous=bool(request.param))


ORDERS = [order for count in range(4) for order in permutations((allows, asks, denies), count)]
"""The policies of an operator, in all orders."""


def strictest(order: tuple[ArgumentPolicy, ...]) -> str:
    return "deny" if denies in order else "ask" if asks in order else "allow"


@pytest.mark.parametrize("policies", ORDERS, ids=lambda order: ", ".join(one.__name__ for one in order) or "none")
def test_the_operator_wins_over_whatever_allows(house: House, policies: tuple[ArgumentPolicy, ...]) -> None:
    """And where the operator says nothing, the user's allow holds."""
    wins = strictest(policies)
    house.user_allows()
    for number, (heuristic, skill) in enumerate(product((False, True), repeat=2)):
        talk = house.agent(f"thread {number}", policies, heuristic=heuristic, skill=skill)
        talk.say()
        assert (len(talk.requests), house.ran.count("save")) == (int(wins == "ask"), int(wins == "allow"))
        if wins == "deny":
            assert "not permitted" in talk.result("s")
        house.ran.runs.clear()


def test_what_the_operator_wants_asked_cannot_be_allowed_by_the_user_at_all(house: House) -> None:
    """The other order: the operator asks first, and there is no "don't ask again" to be had."""
    talk = house.agent("first", (asks,), heuristic=True, skill=True)
    talk.say()
    assert talk.request.remember == ()
    talk.answer("approve", remember={"what": "tool", "scope": "user"})
    assert ("not offered" in talk.request.error, house.ran.runs) == (True, [])
    talk.answer()
    assert house.ran.count("save") == 1
    later = house.agent("second", (), heuristic=False, skill=False)
    later.say()
    assert (len(later.requests), house.ran.count("save")) == (1, 1)
