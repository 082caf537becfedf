"""A script in a person's place: it says what is written, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from tests.ui.requests import EXACTLY, THE_TOOL, paper, request
from toolgate_langchain import ApprovalAnswer, Remember, Tier, ToolProfile, drive
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.ui.render import write_request
from toolgate_langchain.ui.screen import Screen
from toolgate_langchain.ui.scripted import SCRIPT_WORDS, ScriptedApprover


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("approve", {"type": "approve"}),
        ("reject", {"type": "reject"}),
        ("reject: not now, ann", {"type": "reject", "message": "not now, ann"}),
        ("always", {"type": "approve", "remember": Remember("arguments")}),
        ("always-tool", {"type": "approve", "remember": Remember("tool")}),
        ('edit:{"to": "bob"}', {"type": "edit", "edited_arguments": {"to": "bob"}, "edited_name": "send"}),
        ("respond:it was sent", {"type": "respond", "message": "it was sent"}),
    ],
)
def test_each_word_gives_its_answer(word: str, answer: dict[str, Any]) -> None:
    console, _ = paper()
    given = ScriptedApprover([word], console)(request(remember=(EXACTLY, THE_TOOL)))
    assert given == ApprovalAnswer(request_id="r1", by="script", **answer)


@pytest.mark.parametrize(
    "word", ["yes", "y", "", "APPROVE", "approve:now", "always:", "respond", "respond:", "reject:", "edit", 1, None]
)
def test_an_unknown_word_is_refused_when_the_script_is_made_and_the_allowed_ones_are_named(word: Any) -> None:
    with pytest.raises(ConfigurationError, match="answer 2 of the script is") as caught:
        ScriptedApprover(["approve", word])
    assert all(allowed in str(caught.value) for allowed in SCRIPT_WORDS)


def test_an_edit_that_is_no_json_is_refused_when_the_script_is_made() -> None:
    with pytest.raises(ConfigurationError, match=r"answer 1 of the script.*not JSON"):
        ScriptedApprover(["edit:{to: bob}"])


def test_one_text_is_not_a_list_of_words() -> None:
    with pytest.raises(ConfigurationError, match="must be a list of words"):
        ScriptedApprover("approve")


def test_when_the_script_is_used_up_every_further_request_is_rejected() -> None:
    console, kept = paper()
    approver = ScriptedApprover(["approve"], console)
    assert approver.unused == 1
    assert [approver(request()).type for _ in range(3)] == ["approve", "reject", "reject"]
    assert approver.unused == 0
    assert kept.getvalue().count("-> rejected: the script has no more answers  (scripted)") == 2


@pytest.mark.parametrize("word", ["always", "always-tool", "edit:{}", "respond:x", "approve"])
def test_a_word_that_the_request_does_not_offer_is_a_rejection(word: str) -> None:
    console, kept = paper()
    answer = ScriptedApprover([word], console)(request(allowed=("reject",)))
    assert answer.type == "reject" and answer.remember is None
    assert "the scripted answer is not offered for this call" in kept.getvalue()


def test_always_where_nothing_may_be_remembered_is_a_rejection() -> None:
    console, _ = paper()
    assert ScriptedApprover(["always"], console)(request(remember=())).type == "reject"


def test_after_an_answer_that_was_sent_back_the_next_word_is_not_spent_on_it() -> None:
    console, _ = paper()
    approver = ScriptedApprover(["approve"], console)
    assert approver(request(error="That answer cannot be used")).type == "reject"
    assert approver(request(request_id="r2")).type == "approve"


def test_the_request_is_shown_as_a_person_would_see_it_and_then_the_answer() -> None:
    console, kept = paper()
    ScriptedApprover(["reject:no"], console)(request())
    same, seen = paper()
    write_request(Screen(same), request())
    assert kept.getvalue() == seen.getvalue() + "\n-> rejected: no  (scripted)\n"


def test_a_script_drives_a_real_agent() -> None:
    """approve, always, reject: the second call is asked once, and its repetition not at all."""
    ran = Recorder()
    tools = [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))]
    script = [says(call("send", f"c{i}", to=to)) for i, to in enumerate(["ann", "eve", "eve", "bob"])]
    talk = chat(script, tools, surface="cli")
    console, kept = paper()
    approver = ScriptedApprover(["approve", "always", "reject:not bob"], console)
    assert drive(talk.agent, {"messages": [("user", "go")]}, talk.config, approver=approver).done
    assert [arguments["to"] for _, arguments in ran.runs] == ["ann", "eve", "eve"]
    assert "not bob" in talk.result("c3")
    assert kept.getvalue().count("Approval needed") == 3
