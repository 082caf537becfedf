"""Gates for the red team to try out, and what it made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolgate_langchain import Surface, ToolGate, Verdict
from toolgate_langchain.testing import Attack, Host, Report, all_attacks, all_hosts, red_team

CHAT = Surface("chat")
CRON = Surface("cron", attended=False, routine=Verdict.ALLOW)

BY_NAME: dict[str, Attack] = {one.name: one for one in all_attacks()}


def plain_gate(**options: Any) -> ToolGate:
    """A gate with a surface where somebody is there and one where nobody is."""
    return ToolGate(surfaces=[CHAT, CRON], **options)


def hosts_of(*names: str) -> list[Host]:
    """The hosts of these names, driven synchronously."""
    found = [one for one in all_hosts() if one.name in names and not one.asynchronous]
    assert len(found) == len(names)
    return found


FORMS = ("create_agent, ToolGateMiddleware", "create_agent, gate.around()")
"""The two forms of the gate in an agent: one that stands in the loop, one that leaves it."""


def tried(
    make_gate: Callable[[], ToolGate],
    *names: str,
    hosts: Iterable[Host] | None = None,
    surfaces: Iterable[str] = ("chat",),
) -> Report:
    """What the attacks of these names make of a gate; without names, all of them."""
    attacks = [BY_NAME[name] for name in names] if names else None
    return red_team(make_gate, hosts=hosts_of(*FORMS) if hosts is None else hosts, attacks=attacks, surfaces=surfaces)
