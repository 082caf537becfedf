"""Each "don't ask again" says in full what it would remember; one that is too long to be read whole is not offered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile
from toolgate_langchain.approvals.shown import MAX_SHOWN
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.ui.screen import one_line

ROUTINE = ToolProfile(tier=Tier.ROUTINE)

TOO_LONG: dict[str, dict[str, Any]] = {
    "one text of the longest that is shown": {"text": "x" * MAX_SHOWN},
    "line breaks, which JSON writes with two characters": {"text": "ab\n" * (MAX_SHOWN // 3)},
    "quotes, which JSON writes with two characters": {"text": '"' * (MAX_SHOWN * 2 // 3)},
    "the arguments fit, with the words around them no longer": {"text": "x" * (MAX_SHOWN - 40)},
}
"""Arguments that a person sees whole."""


def asked(arguments: dict[str, Any], *more: dict[str, Any]) -> tuple[Recorder, Chat]:
    ran = Recorder()
    script = [says(call("save", str(number), **each)) for number, each in enumerate([arguments, *more])]
    talk = chat(script, [ran.tool("save", ROUTINE)])
    talk.say()
    return ran, talk


@pytest.mark.parametrize("arguments", TOO_LONG.values(), ids=TOO_LONG)
def test_arguments_that_the_memory_cannot_name_whole_are_not_offered_to_be_remembered(
    arguments: dict[str, Any],
) -> None:
    _, talk = asked(arguments)
    assert talk.request.warnings == ()
    assert all(text in talk.request.description().replace("\n    ", "\n") for text in arguments.values())
    assert [(offer.what, offer.scope) for offer in talk.request.remember] == [("tool", "thread"), ("tool", "run")]


def test_an_answer_that_remembers_them_all_the_same_leaves_no_rule() -> None:
    arguments = {"text": "x" * MAX_SHOWN}
    ran, talk = asked(arguments, arguments)
    talk.answer("approve", remember="arguments")
    assert talk.rules == [] and talk.requests != []
    talk.answer("approve")
    assert talk.request.tool_call_id == "1" and ran.count("save") == 1


@pytest.mark.parametrize("length", [0, 1, 100, MAX_SHOWN - 200])
def test_what_is_offered_names_every_character_also_on_the_console(length: int) -> None:
    """The positive control."""
    arguments = {"text": "x" * length}
    _, talk = asked(arguments)
    exact = [offer for offer in talk.request.remember if offer.what == "arguments"]
    assert [offer.scope for offer in exact] == ["thread", "run"]
    assert all(canonical_json(arguments) in offer.text and one_line(offer.text) == offer.text for offer in exact)
