"""Short builders for what was read before a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolgate_langchain import Surface, Tier, ToolProfile, TrustZone, Verdict
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.flow import FlowPolicy
from toolgate_langchain.policy.history import UNLABELLED, History, ReadResult, ResultLabel

CHAT = Surface("chat")
TRUSTED = ResultLabel(trusted=True)


def change(*decisive: str, **more: Any) -> ToolProfile:
    """A tool that changes something, with these decisive arguments."""
    given: dict[str, Any] = {"tier": Tier.ROUTINE, "egress": "none", "decisive": frozenset(decisive), **more}
    return ToolProfile(**given)


def read(text: str = "", structure: Any = None, *, tool: str = "read_mail", label: ResultLabel = UNLABELLED,
         **arguments: Any) -> ReadResult:  # fmt: skip
    """One result that the model has read."""
    return ReadResult(tool, text, structure, arguments, label)


def fields(*names: str) -> ResultLabel:
    """The label of a result of which only these fields are trusted."""
    return ResultLabel(trusted_fields=frozenset(names))


def history(*words: str, results: tuple[ReadResult, ...] = (read("something"),), **more: Any) -> History:
    """What a person said, and what was read; untrusted, where nothing else is said."""
    given: dict[str, Any] = {"untrusted": True, **more}
    return History(words=words, results=results, **given)


def said(
    profile: ToolProfile,
    arguments: Mapping[str, Any],
    before: History | None,
    *,
    name: str = "send_mail",
    zone: TrustZone | None = None,
    policy: FlowPolicy | None = None,
) -> PolicyAnswer:
    """What the policy says of one call."""
    view = ArgumentView(name, arguments, CatalogEntry(name, profile), CHAT, None, before, zone)
    return (FlowPolicy() if policy is None else policy)(view)


def asked(profile: ToolProfile, arguments: Mapping[str, Any], before: History | None, **more: Any) -> bool:
    """Whether a call is asked about."""
    answer = said(profile, arguments, before, **more)
    assert answer.verdict is not Verdict.DENY, answer
    return answer.verdict is Verdict.ASK
