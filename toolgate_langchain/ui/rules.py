"""A standing rule on a screen: what it covers, on which conversations, from which answer, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.ui.screen import Screen, one_line

if TYPE_CHECKING:
    from datetime import datetime

    from toolgate_langchain.approvals.rules import StandingRule

__all__ = ["write_rule"]


def write_rule(screen: Screen, rule: StandingRule, at: datetime) -> None:
    """Show one rule in full.

    Args:
        screen: Where it is shown.
        rule: The rule.
        at: The time, to say whether it has expired.
    """
    screen.write()
    screen.write(one_line(str(rule.request_id)), "bold", before="Rule:     ")
    what = "any arguments" if rule.arguments is None else f"exactly {canonical_json(rule.arguments)}"
    verb, style = ("allows", "green") if rule.effect == "allow" else ("forbids", "red")
    screen.write(f"{verb} {one_line(rule.tool_name)} ({one_line(rule.origin)}) with {one_line(what)}", style)
    whose = {"run": "in one run", "thread": "in one conversation"}.get(
        rule.scope, f"in all conversations of {rule.caller}"
    )
    agent = f", by the agent {' > '.join(rule.agent_path)}" if rule.agent_path else ""
    screen.write(one_line(f"{whose} on the surface {rule.surface}{agent}"), before="Where:    ")
    by = "nobody who is known" if rule.created_by is None else rule.created_by
    screen.write(one_line(f"{by}, {rule.created_at:%Y-%m-%d %H:%M %Z}"), before="Said by:  ")
    screen.write(_until(rule, at), "bold yellow" if rule.expired(at) else "", before="Until:    ")


def _until(rule: StandingRule, at: datetime) -> str:
    if rule.expires_at is None:
        return "it is revoked"
    when = f"{rule.expires_at:%Y-%m-%d %H:%M %Z}"
    return f"{when}: expired" if rule.expired(at) else when
