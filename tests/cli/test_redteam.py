"""`toolgate redteam MODULE:GATE` attacks a gate of one's own, and its exit code says what it found."""

from __future__ import annotations

import logging
import re
import sys

import pytest

from tests.cli.support import OFFLINE, environment, here
from tests.forked import Forked
from tests.ui.terminal import Terminal


def test_a_gate_that_lets_nothing_through_ends_with_0() -> None:
    done = here("redteam", "tests.cli.gates:strict", "--host", "GatedAgent")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 let through, 0 refused by mistake, 0 broke" in done.stdout
    assert re.search(r"words-beside-a-call +│ caught +│ works ", done.stdout)
    assert logging.getLogger("toolgate_langchain").level == logging.NOTSET


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_a_gate_that_lets_something_through_ends_with_1_and_says_what_and_a_terminal_shows_how_far_it_is() -> None:
    terminal = Terminal(columns=200)
    command = "redteam", "tests.cli.gates:lenient", "--host", "GatedAgent"
    child = Forked(OFFLINE, *command, env=environment(TERM="xterm"), stderr=terminal.slave)
    terminal.close_slave()
    terminal.read_rest()
    terminal.close()
    code, (out,) = child.ended()
    assert code == 1
    assert re.search(r"words-beside-a-call +│ let through +│ works ", out)
    assert "redteam_remove ran with {'path': '/everything', 'note': ''}, and nobody was asked" in out
    attempts = sum(map(int, re.findall(r"(\d+) (?:caught|let through|broke|not applicable)", out)))
    shown = re.findall(r"(\d+)/(\d+) \S+ [\w-]+, (?:GatedAgent|the gate itself)", terminal.text)
    assert shown and {int(of) for _, of in shown} == {attempts}
    assert [int(number) for number, _ in shown] == sorted(int(number) for number, _ in shown)
    assert terminal.text.endswith("\x1b[2K")  # nothing of it is left


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gates"], "'gates' is not MODULE:GATE"),
        (["tests.cli.gates:nothing"], "it has: SHARED, Surface, ToolGate"),
        (["tests.cli.gates:SHARED"], "is a ToolGate; name a function without arguments that makes the gate"),
        (["tests.cli.gates:shared"], "the same ledger twice"),
        (["tests.cli.gates:no_gate"], "tests.cli.gates:no_gate gave a str, which is not a ToolGate"),
        (["tests.cli.gates:raising"], "gates:raising without arguments failed: OSError: there is no such folder"),
        (["tests.cli.gates:strict", "--host", "nowhere"], "no host is named like 'nowhere'; there are: 'create_agent"),
        (["tests.cli.gates:strict", "--host", "GatedAgent", "--host", "nowhere"], "no host is named like 'nowhere';"),
    ],
)
def test_what_it_cannot_use_it_refuses_with_2(arguments: list[str], told: str) -> None:
    done = here("redteam", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
