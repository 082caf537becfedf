"""The end of a run: every call with its verdict, the layer that decided, code and reason."""

from __future__ import annotations

from tests.support import Recorder, call, chat, says
from tests.ui.requests import paper
from toolgate_langchain import Tier, ToolGate, ToolProfile, Verdict, drive
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.ui.scripted import ScriptedApprover
from toolgate_langchain.ui.summary import print_summary


def rows(outcomes: list[CallOutcome], columns: int = 200) -> list[list[str]]:
    """The cells of the table's rows."""
    console, kept = paper(columns)
    print_summary(outcomes, console)
    body = [line for line in kept.getvalue().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in body]


def outcome(**changes: object) -> CallOutcome:
    fields = {
        "call_id": "c1",
        "name": "send",
        "arguments": {"to": "ann"},
        "verdict": Verdict.DENY,
        "code": "rejected",
        "layer": "person",
        "reason": "a person rejected it",
        "asked": True,
        "by": "ann",
    }
    return CallOutcome(**{**fields, **changes})  # type: ignore[arg-type]


def test_every_call_of_a_real_run_is_a_row_with_who_decided_and_why() -> None:
    ran, outcomes = Recorder(), list[CallOutcome]()
    tools = [ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)), ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))]
    script = [
        says(call("read", "a")),
        says(call("send", "b", to="ann")),
        says(call("send", "c", to="ann")),
        says(call("send", "d", to="bob")),
    ]
    talk = chat(script, tools, gate=ToolGate(on_decision=outcomes.append), surface="cli")
    console, _ = paper()
    approver = ScriptedApprover(["always", "reject"], console)
    drive(talk.agent, {"messages": [("user", "go")]}, talk.config, approver=approver)
    assert [row[:5] for row in rows(outcomes)] == [
        ["1", "read {}", "allow", "approval rule", "not_required"],
        ["2", 'send {"to": "ann"}', "allow", "person (script)", "approved"],
        ["3", 'send {"to": "ann"}', "allow", "standing allows", "standing_rule"],
        ["4", 'send {"to": "bob"}', "deny", "person (script)", "rejected"],
    ]
    assert [row[5] for row in rows(outcomes)] == [one.reason for one in outcomes]


def test_what_a_call_says_is_shown_as_it_is_and_its_hidden_characters_as_escapes() -> None:
    ((_, name, *_, reason),) = rows(
        [outcome(name="[red]x[/red]", arguments={"a": ":smile: \u202e\n"}, reason="[b]\x1b[2J")]
    )
    assert name == '[red]x[/red] {"a": ":smile: \\u{202e}\\n"}'
    assert reason == "[b]\\x1b[2J"


def test_long_arguments_are_cut_and_those_that_are_no_json_do_not_end_the_run() -> None:
    ((_, long, *_),) = rows([outcome(arguments={"a": "x" * 1_000})], columns=400)
    assert long == 'send {"a": "' + "x" * 193 + "..."
    ((_, odd, *_),) = rows([outcome(arguments={"a": object()})])
    assert odd == "send arguments that cannot be written as JSON"


def test_a_run_without_calls_says_so() -> None:
    console, kept = paper()
    print_summary([], console)
    assert "no tool calls" in kept.getvalue()
