"""The whole call on a screen: what a person must see before they answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.shown import show_arguments, show_text
from toolgate_langchain.ui.screen import Screen, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.rules import Scope

__all__ = ["said", "write_arguments", "write_request"]


def write_request(screen: Screen, request: ApprovalRequest) -> None:
    """Show one request in full: the call, why it is asked, and what to watch out for."""
    screen.write()
    needed = f"Approval needed, {request.position} of {request.of}"
    screen.write(needed if request.kind == "approval" else "Outcome unknown: what became of this call?", "bold")
    if request.error:
        screen.write(one_line(request.error), "bold red", before="! ")
    screen.write(f"{one_line(request.tool_name)}  ({one_line(request.tier)})", "bold", before="Tool:     ")
    screen.write(one_line(request.origin), before="From:     ")
    where = request.surface if request.caller is None else f"{request.surface}, for {request.caller}"
    screen.write(one_line(where), before="Surface:  ")
    if request.agent_path:
        screen.write(" > ".join(map(one_line, request.agent_path)), before="Agent:    ")
    screen.write(one_line(request.reason), before="Because:  ")
    if request.until:
        screen.write(request.until, before="Until:    ")
    write_arguments(screen, request.arguments)
    if request.preview:
        screen.write("It would do:")
        screen.quote(show_text(request.preview).text)
    for warning in request.warnings:
        screen.write(one_line(warning), "bold yellow", before="Warning:  ")
    for note in request.notes:
        screen.write(one_line(note), before="Note:     ")
    if request.hint:
        screen.write(one_line(request.hint), before="Hint:     ")


def write_arguments(screen: Screen, arguments: Mapping[str, Any]) -> None:
    """Show every argument in full, each value behind a bar."""
    if not arguments:
        screen.write("none", before="Arguments: ")
        return
    screen.write("Arguments:")
    shown, _ = show_arguments(arguments)
    for (name, text), value in zip(shown.items(), arguments.values(), strict=True):
        screen.write(f"{one_line(name)}{_kind(value)}", "bold", before="  ")
        screen.quote(text)


_UNTIL: Final[dict[Scope, str]] = {
    "thread": "in this conversation",
    "run": "until this run ends",
    "user": "in all conversations of this user",
}


def said(answer: ApprovalAnswer) -> str:
    """An answer in one line."""
    text = {
        "approve": "approved",
        "edit": "approved with other arguments",
        "reject": "rejected",
        "respond": "answered in the tool's place",
        "try_again": "to be run once more",
        "done": "reported as done",
        "failed": "reported as failed",
    }[answer.type]
    if answer.remember is not None:
        what = "exactly these arguments" if answer.remember.what == "arguments" else "this tool"
        text += f", and remembered for {what} {_UNTIL[answer.remember.scope]}"
    return text if answer.message is None else f"{text}: {one_line(answer.message)}"


def _kind(value: Any) -> str:
    """What the look of a value does not tell: that it is text, or has blanks at its ends."""
    if not isinstance(value, str):
        return ""
    if value != value.strip():
        return " (text, with blanks at its ends)"
    if not value:
        return " (empty text)"
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return ""
    return " (text)"
