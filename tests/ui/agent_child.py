"""A small real agent with a console approver, run as a child process on a terminal.

Its arguments are a scenario and the file that it reports to.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from tests.support import Chat, Recorder, Turn, call, chat, says
from toolgate_langchain import ConsoleApprover, Tier, ToolProfile, adrive, drive

HIDDEN = {
    "markup": "[bold red]not markup[/bold red] [link=https://x.example]x[/link] :smile:",
    "ansi": "before\x1b[2Jafter",
    "bidi": "invoice\u202egpj.exe",
}


def one(**arguments: Any) -> list[Turn]:
    """A script with one call of `send`."""
    return [says(call("send", "c1", **arguments))]


def while_the_person_types_ahead(_: list[BaseMessage]) -> AIMessage:
    """A model that thinks until a whole line has been typed."""
    os.write(1, b"thinking\n")
    assert select.select([0], [], [], 60)[0]
    return says(call("send", "c1", to="ann"))


SCRIPTS: dict[str, Callable[[], list[Turn]]] = {
    "one": lambda: one(to="ann"),
    "same-twice": lambda: [says(call("send", "c1", to="ann")), says(call("send", "c2", to="ann"))],
    "two-in-a-turn": lambda: [says(call("send", "c1", to="ann"), call("send", "c2", to="bob"))],
    "hidden": lambda: one(**HIDDEN),
    "type-ahead": lambda: [while_the_person_types_ahead],
}


def in_the_background(job: Callable[[], None]) -> None:
    """Let a process of its own do a job, while the terminal stays with this one."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        job()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run(talk: Chat, *, asynchronously: bool) -> Any:
    """Drive the agent to its end."""
    given = {"messages": [{"role": "user", "content": "go"}]}
    approver = ConsoleApprover(by="ann")
    if asynchronously:
        return asyncio.run(adrive(talk.agent, given, talk.config, approver=approver))
    return drive(talk.agent, given, talk.config, approver=approver)


def main(scenario: str, report: Path) -> None:
    if scenario == "background":
        in_the_background(lambda: main("one", report))
        return
    name, _, how = scenario.partition("/")
    recorder = Recorder()
    tools = [recorder.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))]
    talk = chat(SCRIPTS[name](), tools, surface="cli")
    result = run(talk, asynchronously=how == "async")
    found = {
        "done": result.done,
        "runs": [arguments for _, arguments in recorder.runs],
        "results": {message.tool_call_id: message.content for message in talk.results},
        "left on stdin": sys.stdin.read() if how == "then-read" else "",
    }
    report.write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
