"""Argument policies: checks that see the arguments of one call.

A tier judges which tool it is; damage is in the arguments. A policy is a pure function of the call
and a read-only view of where it is made. Its `deny` is final, its `ask` makes a person see the call
whatever rule or heuristic would release it, and its `allow` changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.caller import Caller
    from toolgate_langchain.policy.history import History
    from toolgate_langchain.policy.surface import Surface
    from toolgate_langchain.vocabulary import TrustZone

__all__ = ["ArgumentPolicy", "ArgumentView", "PolicyAnswer", "ask_policy"]


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """What an argument policy may look at."""

    name: str
    arguments: Mapping[str, Any]
    """The effective arguments."""
    entry: CatalogEntry
    surface: Surface
    caller: Caller | None
    history: History | None = None
    """What was read and said before the call; only where a policy asks for it (`needs_history`)."""
    zone: TrustZone | None = None
    """The worst zone of the run's models; `None` where none was declared."""


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """What an argument policy says of one call."""

    verdict: Verdict
    reason: str = ""


ArgumentPolicy: TypeAlias = Callable[[ArgumentView], PolicyAnswer]


def ask_policy(policy: ArgumentPolicy, view: ArgumentView) -> PolicyAnswer:
    """Ask one policy. One that raises, or returns anything but a `PolicyAnswer`, denies."""
    name = getattr(policy, "__name__", type(policy).__name__)
    try:
        # A copy: what a policy does to its arguments must not change the call that runs.
        answer = policy(replace(view, arguments=deepcopy(dict(view.arguments))))
    except Exception as error:
        return PolicyAnswer(Verdict.DENY, f"{name} raised {type(error).__name__}: {error}")
    if isinstance(answer, PolicyAnswer) and isinstance(answer.verdict, Verdict):
        return PolicyAnswer(answer.verdict, f"{name}: {answer.reason}" if answer.reason else name)
    return PolicyAnswer(Verdict.DENY, f"{name} returned {answer!r}, which is not a PolicyAnswer")
