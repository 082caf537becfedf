"""A heuristic of shell commands as it is made: what it takes for its commands, and a value that is no command line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ready_heuristics.asking import says_yes
from toolgate_langchain.approvals.ready_heuristics import AllowedCommand, ShellCommands
from toolgate_langchain.errors import ConfigurationError

ALLOWED: list[AllowedCommand | str] = [AllowedCommand("git log", options={"--oneline"}), "ls"]


def test_a_text_stands_for_exactly_these_words_and_a_command_for_what_it_allows() -> None:
    made = ShellCommands("act", "command", ALLOWED)
    assert says_yes(made, command="git log --oneline") and says_yes(made, command="ls")
    assert not says_yes(made, command="ls --oneline")
    assert not says_yes(ShellCommands("act", "command", []), command="ls")


def test_it_is_about_one_argument_of_one_tool_from_one_place() -> None:
    """Its name, under which its yes is saved, says which."""
    made = ShellCommands("act", "command", ALLOWED, others=["note"])
    assert getattr(made, "__name__", "") == "ShellCommands(act.command)"
    assert says_yes(made, command="ls", note="why") and not says_yes(made, command="ls", cwd="/")
    assert not says_yes(ShellCommands("act", "command", ALLOWED, origin="server:srv"), command="ls")


@pytest.mark.parametrize("value", ["", "  ", "\n", "# ls", 5, True, ["ls"], {"ls": "ls"}], ids=repr)
def test_a_value_that_holds_no_command_is_left_to_a_person(value: Any) -> None:
    assert not says_yes(ShellCommands("act", "command", ALLOWED), command=value)


def test_one_text_in_place_of_a_list_of_commands_or_of_options_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="allowed is the text 'ls'; it must be a list of commands"):
        ShellCommands("act", "command", "ls")
    with pytest.raises(ConfigurationError, match="options is the text '-l'; it must be a set of words"):
        AllowedCommand("ls", options="-l")  # type: ignore[arg-type]
