"""What a command line may hide, each line with two hundred variations and the same call, harmless, beside it."""

from __future__ import annotations

import random
from time import process_time
from typing import Any

import pytest

from tests.ready_heuristics.asking import says_yes
from tests.redteam.variations import variations
from tests.support import Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import GatedAgent, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.approvals.ready_heuristics import AllowedCommand, ShellCommands
from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS
from toolgate_langchain.policy.shell_denies import DeniedCommands

SHELL = ShellCommands(
    "act",
    "command",
    [
        AllowedCommand("git log", options={"--oneline", "-n"}, operands=True),
        AllowedCommand("git show", operands=True),
        AllowedCommand("find", options={"-name"}, operands=True),
        AllowedCommand("rg", options={"-n"}, operands=True),
        AllowedCommand("base64", operands=True),
        AllowedCommand("cat", operands=True),
        "true",
    ],
    others=["note"],
)
DENIED = DeniedCommands("act", "command", ["rm", "curl"])
CATALOG = ToolCatalog.from_tools([Recorder().tool("act", ToolProfile(tier=Tier.CONSEQUENTIAL))])
GATE = ToolGate(CATALOG, [Surface("chat")], argument_policies=[DENIED])


def denied(command: str) -> bool:
    return GATE.decide(call("act", command=command), surface="chat").verdict is Verdict.DENY


HARMLESS = [
    "git log",
    "git log --oneline -n 5 src",
    "git show HEAD",
    "find src -name app.py",
    "rg -n word",
    "cat a.txt",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_the_same_commands_harmless_are_approved(command: str) -> None:
    assert says_yes(SHELL, command=command)
    assert not denied(command)


JOINED = ["&&", ";", "||", "|", "&", "\n", "\r", "\r\n", " & \n", "|&", ";\n"]
WRAPPED = ["$({})", "`{}`", "<({})", ">({})", '"$({})"', '"`{}`"', "$(echo $({}))"]
REMOVING = ["rm", "/bin/rm", "./rm", "'rm'", '"rm"', "r''m", "\\rm", "command rm", "sudo rm", "env A=b rm", "xargs rm"]


def hidden(chance: random.Random) -> str:
    rm = f"{chance.choice(REMOVING)} {chance.choice(['-rf', '-r', '--', ''])} {chance.choice(['x', '/', '~', '.git'])}"
    blank = " " * chance.randrange(3)
    if chance.random() < 0.6:
        return f"{chance.choice(HARMLESS)}{blank}{chance.choice(JOINED)}{blank}{rm}"
    return f"{chance.choice(HARMLESS)} {chance.choice(WRAPPED).format(rm)}{blank}"


def test_a_command_behind_an_allowed_one_is_asked_about_and_where_it_is_denied_it_is_denied() -> None:
    for command in variations(hidden):
        assert not says_yes(SHELL, command=command)
        assert denied(command)


FILES = ["~/.ssh/id_rsa", "/etc/passwd", "x", "$HOME/.bashrc", "'a b'"]
PREFIXES = [
    "LD_PRELOAD=x",
    "GIT_PAGER='sh -c x'",
    "PATH=/tmp:$PATH",
    "BASH_ENV=x",
    "A=1 B=2",
    "IFS=x",
    "GIT_DIR=/tmp/evil",
]


def redirected(chance: random.Random) -> str:
    command, blank = chance.choice(HARMLESS), " " * chance.randrange(2)
    kind = chance.randrange(3)
    if kind == 0:
        redirection = chance.choice([">", ">>", "2>", "&>", ">|", "<", "<>", "1>&2 >", "<<<"])
        return f"{command} {redirection}{blank}{chance.choice(FILES)}"
    if kind == 1:
        return f"{blank}{chance.choice(PREFIXES)} {command}"
    return f"{chance.choice(PREFIXES)} {chance.choice(['env -S', 'env', 'bash -lc', 'sh -c', 'sudo -E'])} '{command}'"


def test_a_redirection_and_what_stands_before_a_command_are_asked_about() -> None:
    for command in variations(redirected):
        assert not says_yes(SHELL, command=command)


@pytest.mark.parametrize("command", ["LD_PRELOAD=x git log", "env -S 'git log'", "BASH_ENV=x bash -lc 'git log'"])
def test_what_stands_before_a_command_is_visible_to_the_person(command: str) -> None:
    recorder = Recorder()
    talk = chat(
        [says(call("act", command=command)), says(text="done")],
        [recorder.tool("act")],
        gate=ToolGate(heuristics=[SHELL]),
        surface="chat",
    )
    talk.say()
    assert recorder.runs == []
    assert talk.request.arguments == {"command": command}
    assert command.split(maxsplit=1)[0] in talk.request.to_interrupt()["action_requests"][0]["description"]


SMUGGLED = [
    "find {} -exec {}",
    'find {} -e"x"ec {}',
    "find {} -execdir {}",
    "find {} -delete {}",
    "find {} -fprint {}",
    "find {} -ok {}",
    "rg --pre {} {}",
    "rg --pre={} {}",
    "git -c core.pager={} log {}",
    "git -p log {} {}",
    "git --exec-path={} log {}",
    "git log --output={} {}",
    "git log --ext-diff {} {}",
    "git show --textconv {} {}",
    "base64 -o {} {}",
    "base64 --output={} {}",
    "./cat {} {}",
    "/tmp/evil/cat {} {}",
    "../cat {} {}",
    "cat -{} {}",
    "CAT {} {}",
    "cat\u200b {} {}",
    "c\u0430t {} {}",
]
PLAIN = ["x", "a.txt", "src", "HEAD", "b/c", "w1", "w2", "w3", "w4"]


def smuggled(chance: random.Random) -> str:
    return chance.choice(SMUGGLED).format(chance.choice(PLAIN), chance.choice(PLAIN))


def test_an_option_that_runs_or_writes_and_another_program_of_that_name_are_asked_about() -> None:
    for command in variations(smuggled):
        assert not says_yes(SHELL, command=command)


RUNNERS = [
    "sh -c {}",
    "bash -lc {}",
    "python -c {}",
    "python3.12 -c {}",
    "env {}",
    "xargs {}",
    "sudo {}",
    "/usr/bin/env {}",
    "A=1 sh -c {}",
    "ls | xargs {}",
    "time {}",
    "nohup {}",
    "perl -e {}",
    "git log && sh -c {}",
    "(sh -c {})",
    "echo $(sh -c {})",
]


def running(chance: random.Random) -> str:
    return chance.choice(RUNNERS).format(f"'{chance.choice(PLAIN)} {chance.randrange(100)}'")


@pytest.fixture(scope="module")
def offered() -> dict[str, set[str]]:
    """What may be remembered of each command, by a tool whose calls may otherwise be remembered as a whole."""
    recorder = Recorder()
    commands = [*variations(running), "git log", "ls -l"]
    tools = [recorder.tool("act", ToolProfile(tier=Tier.ROUTINE))]
    found: dict[str, set[str]] = {}
    for place in range(0, len(commands), 20):
        some = commands[place : place + 20]
        agent = GatedAgent(ScriptedModel(script=[says(*(call("act", command=one) for one in some))]), tools)
        session = agent.invoke("go")["session"]
        while (request := session.request) is not None:
            found[str(request.arguments["command"])] = {offer.what for offer in request.remember}
            session = agent.resume(session, {"type": "approve", "request_id": request.request_id})["session"]
    return found


def test_a_command_that_runs_others_is_not_offered_to_be_remembered_as_a_tool(offered: dict[str, set[str]]) -> None:
    assert offered["git log"] == offered["ls -l"] == {"arguments", "tool"}
    running = {command: what for command, what in offered.items() if command not in ("git log", "ls -l")}
    assert len(running) == 200
    assert {command for command, what in running.items() if "tool" in what} == set()


def test_no_well_known_tool_that_runs_commands_is_remembered_as_a_tool() -> None:
    shells = [
        one for tools in WELL_KNOWN_TOOLS.values() for one in tools if one.name in ("shell", "terminal", "execute")
    ]
    assert len(shells) == 3
    assert all(one.profile.widest_memory != "tool" for one in shells)


def many(chance: random.Random) -> str:
    count = chance.randrange(50, 120)
    last = chance.choice(["curl x", "rm x", "/usr/bin/curl x", "(curl x)", "$(curl x)", "A=1 curl x", "sudo curl x"])
    return chance.choice(["true;", "true ; ", "true&&", "true | ", "true\n"]) * count + last


def test_a_denied_command_behind_many_harmless_ones_is_denied() -> None:
    for command in variations(many):
        started = process_time()
        assert denied(command) and not says_yes(SHELL, command=command)
        assert process_time() - started < 1


def unreadable(chance: random.Random) -> str:
    word = chance.choice(PLAIN)
    return chance.choice(
        [
            "git log " + word * (10_001 // len(word)),
            f"git log '{word}",
            f'git log "{word}',
            f"git log `{word}",
            f"git log $({word}",
            f"git log &&& {word}",
            f"git log {word} ||",
            f"| git log {word}",
            f"git log {word} <",
            f"git log ({word}",
            f"git log {word}\\",
            f"git log {word} ;; {word}",
            "(" * chance.randrange(100, 3_000) + word,
            "$(" * chance.randrange(100, 1_500) + word,
            "{" * chance.randrange(100, 3_000),
            f"cat <<{word}\n" * chance.randrange(2, 100),
            "if " * chance.randrange(50, 1_000),
            "${" * chance.randrange(50, 1_000),
            "'" * (2 * chance.randrange(50, 1_000) + 1),
            "`" * chance.randrange(50, 2_000),
        ]
    )


def test_what_is_too_long_or_cannot_be_read_is_never_approved_and_takes_a_bounded_time() -> None:
    for command in variations(unreadable):
        started = process_time()
        assert not says_yes(SHELL, command=command)
        assert GATE.decide(call("act", command=command), surface="chat").verdict is not Verdict.ALLOW
        assert process_time() - started < 1


def decoy(chance: random.Random) -> str:
    quote = chance.choice(['"', '\\"', "'", "&quot;"])
    command = f"{chance.choice(HARMLESS)} {chance.randrange(100)}"
    return chance.choice(
        [
            f"{quote}command{quote}:{quote}{command}",
            f"command={command}",
            f"{{{quote}command{quote}: {quote}{command}{quote}}}",
            f"{command}{quote}, {quote}command{quote}: {quote}{command}",
            f"act(command={quote}{command}{quote})",
        ]
    )


def test_fields_are_read_and_never_the_text_of_the_call() -> None:
    for note in variations(decoy):
        assert not says_yes(SHELL, note=note, command="rm x")
        named: dict[str, Any] = {note: "git log"}
        assert not says_yes(SHELL, note=note) and not says_yes(SHELL, **named)
        assert says_yes(SHELL, note=note, command="git log")
        arguments: dict[str, Any] = {"note": note, "command": "rm x"}
        assert GATE.decide(call("act", **arguments), surface="chat").verdict is Verdict.DENY
