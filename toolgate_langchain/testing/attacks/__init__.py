"""The attacks, by the lines that they belong to."""

from __future__ import annotations

from toolgate_langchain.testing.attacks import (
    answers,
    between,
    judging,
    memory,
    others,
    servers,
    shown,
    states,
    subagents,
)

__all__ = ["ATTACKS"]

_PAGES = (servers, shown, answers, between, subagents, memory, judging, states, others)

ATTACKS = tuple(sorted((one for page in _PAGES for one in page.ATTACKS), key=lambda one: one.line))
"""All attacks, in the order of their lines."""
