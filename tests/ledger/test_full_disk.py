"""A disk that is full: each time a clear error, nothing is released, and nothing that was said is lost.

The disk is a real one, in memory. What a ledger itself does where its file may not grow is tried everywhere.
"""

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import LedgerError

ASYNCHRONOUS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


class Disk:
    """A disk of four megabytes with a ledger on it."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"
        self.ledger = SqlLedger(f"sqlite:///{folder / 'ledger.db'}", sleep=lambda _: None)
        self.ledger.prepare()

    def fill(self) -> None:
        """Leave no room at all."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (65_536, 4_096, 1):
                while _fits(file, size):
                    pass

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink()


def _fits(file: Any, size: int) -> bool:
    try:
        return bool(file.write(b"x" * size))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount a small disk can fill one")
    made = Disk(folder)
    try:
        yield made
    finally:
        made.ledger.close()
        subprocess.run(["umount", str(folder)], check=True)


def talk(disk: Disk, ran: Recorder, *, asynchronous: bool) -> Chat:
    tool = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    gate = ToolGate(ledger=disk.ledger)

    def turn(messages: list[Any]) -> AIMessage:
        return says(text="done") if messages[-1].type == "tool" else says(call("send", "a", n=1))

    return chat([turn] * 3, [tool], gate=gate, asynchronous=asynchronous)


FULL = pytest.raises(LedgerError, match=r"cannot be used, so nothing is released: .*database or disk is full")


@ASYNCHRONOUS
def test_when_a_call_is_proposed_it_is_asked_about_when_there_is_room(disk: Disk, asynchronous: bool) -> None:
    ran = Recorder()
    said = talk(disk, ran, asynchronous=asynchronous)
    disk.fill()
    with FULL:
        said.say()
    assert ran.runs == []
    disk.free()
    said.invoke(None)
    said.answer()
    assert ran.names == ["send"]


@ASYNCHRONOUS
def test_when_a_person_answers_the_answer_is_carried_when_there_is_room(disk: Disk, asynchronous: bool) -> None:
    ran = Recorder()
    said = talk(disk, ran, asynchronous=asynchronous)
    said.say()
    disk.fill()
    with FULL:
        said.answer()
    assert ran.runs == []
    disk.free()
    said.invoke(None)
    assert (ran.names, said.requests) == (["send"], [])


@ASYNCHRONOUS
def test_at_the_last_step_the_approval_is_still_there_when_there_is_room(disk: Disk, asynchronous: bool) -> None:
    ran = Recorder()
    said = talk(disk, ran, asynchronous=asynchronous)
    said.say()
    said.agent.interrupt_before_nodes = ["tools"]
    said.answer()
    said.agent.interrupt_before_nodes = []
    disk.fill()
    with FULL:
        said.invoke(None)
    assert ran.runs == []
    disk.free()
    said.invoke(None)
    assert ran.names == ["send"]


@ASYNCHRONOUS
def test_while_a_tool_runs_a_person_says_what_became_of_it_and_nothing_is_repeated(
    disk: Disk, asynchronous: bool
) -> None:
    ran = Recorder()
    said = talk(disk, ran, asynchronous=asynchronous)
    said.say()
    append: Any = ran.runs.append

    class Filling(list[Any]):
        def append(self, one: Any) -> None:
            append(one)
            disk.fill()

    ran.runs = Filling()
    with FULL:
        said.answer()
    disk.free()
    said.invoke(None)
    assert (said.request.kind, said.request.tool_name) == ("outcome", "send")
    said.answer("done", message="it was sent")
    assert "it was sent" in said.result("a")
