"""A configuration that is too lenient, or that refuses everything, is told so, with the attack and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.testing.gates import CHAT, CRON, FORMS, hosts_of, plain_gate, tried
from toolgate_langchain import (
    ApprovalRule,
    RemoteServer,
    Surface,
    ToolGate,
    ToolProfile,
    Verdict,
)
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.testing import ControlOutcome, Outcome
from toolgate_langchain.testing.scene import Scene


def with_server(server: RemoteServer) -> Callable[[], ToolGate]:
    """A gate whose catalog has a tool of this server."""

    def gate() -> ToolGate:
        made = plain_gate()
        tool = Scene(tried_host(), plain_gate, "chat").tool("mail_list", ToolProfile())
        made.catalog.add_remote(server, [tool.model_copy(update={"metadata": {}})])
        return made

    return gate


def tried_host() -> Any:
    return hosts_of(FORMS[0])[0]


def no_person_on_chat() -> ToolGate:
    return ToolGate(surfaces=[Surface("chat", consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW), CRON])


LENIENT: dict[str, tuple[Callable[[], ToolGate], str, str]] = {
    "a heuristic that always says True": (
        lambda: plain_gate(heuristics=[lambda *_: True]), "words-beside-a-call", "and nobody was asked"),
    "a surface that allows consequential tools": (no_person_on_chat, "words-beside-a-call", "and nobody was asked"),
    "undeclared remote tools are exempt": (
        lambda: plain_gate(approval_rule=ApprovalRule(undeclared_remote="exempt")),
        "hint-read-only", "nobody was asked about a server's unclassified tool"),
    "a server whose hints are trusted": (
        with_server(RemoteServer("mail", trust_hints=True)),
        "hint-read-only", "counts as read_only (from a server recorded as 'mail' is)"),
    "a server that needs nobody for any tool": (
        with_server(RemoteServer("mail", declarations={"*": False})),
        "hint-read-only", "(from a server recorded as 'mail' is)"),
    "answers that need name no request": (
        lambda: plain_gate(answers="lenient"), "answer-without-an-id", "answers that name no request"),
    "a person who may be asked without end": (
        lambda: plain_gate(max_requests_per_turn=1_000), "flood-of-requests", "asked 200 times in one turn"),
}  # fmt: skip


@pytest.mark.parametrize("lenient", list(LENIENT))
def test_what_is_too_lenient_is_let_through_by_an_attack_that_says_why(lenient: str) -> None:
    make_gate, attack, why = LENIENT[lenient]
    report = tried(make_gate, attack)
    assert not report.ok
    assert {one.attack for one in report.let_through} == {attack}
    assert all(why in one.why for one in report.let_through), report.text()
    assert attack in report.text() and why in report.text()  # and through `plain_gate` nothing is let at all


def test_an_unattended_surface_that_allows_consequential_tools_is_told() -> None:
    lenient = Surface("cron", attended=False, consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW)
    report = tried(lambda: ToolGate(surfaces=[CHAT, lenient]), "approved-in-the-history", surfaces=["cron"])
    assert [one.outcome for one in report.findings] == [Outcome.LET_THROUGH] * 2


def denies_everything(_: Any) -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY, "never")


PARANOID: dict[str, Callable[[], ToolGate]] = {
    "a policy that denies": lambda: plain_gate(argument_policies=[denies_everything]),
    "a surface that denies all tiers": lambda: ToolGate(
        surfaces=[
            Surface(
                "chat",
                read_only=Verdict.DENY,
                routine=Verdict.DENY,
                consequential=Verdict.DENY,
                unclassified=Verdict.DENY,
            )
        ]
    ),
    "a heuristic that raises": lambda: plain_gate(heuristics=[lambda *_: 1 / 0]),
}


@pytest.mark.parametrize(("paranoid", "form"), list(zip(PARANOID, (*FORMS, FORMS[0]), strict=True)))
def test_what_refuses_everything_is_told_that_it_refuses_by_mistake(paranoid: str, form: str) -> None:
    """Where a policy denies, that is said of every control: only what is refused at load comes before any call."""
    report = tried(PARANOID[paranoid], hosts=hosts_of(form))
    assert report.refused_by_mistake and not report.ok
    assert not report.let_through, report.text()
    assert "Refused by mistake:" in report.text()
    made = [one for one in report.findings if one.control is not ControlOutcome.NOT_APPLICABLE]
    refused = {one.attack for one in report.refused_by_mistake}
    by_a_policy = paranoid == "a policy that denies"
    assert not by_a_policy or {one.attack for one in made} - refused == {"servers-that-read-alike"}
