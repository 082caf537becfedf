"""`toolgate record` writes the record of a ledger as lines; `toolgate replay` says whether it comes out the same."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.support import here
from tests.support import Clock, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile, export_record
from toolgate_langchain.approvals.recording.lines import _chained

START = Clock().now


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ledger with what happened on two threads, one hour after the other."""
    url = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}"
    clock = Clock()
    ledger, ran = SqlLedger(url, clock=clock), Recorder()
    for thread in ("one", "two"):
        talk = chat(
            [says(call("send", "a", to="ann", password="hunter2"))],
            [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))],
            gate=ToolGate(ledger=ledger, clock=clock),
            thread=thread,
        )
        talk.say()
        talk.answer(by="dora")
        clock.forward(hours=1)
    ledger.close()
    return url


def saved(folder: Path, text: str) -> str:
    """A file that holds a text."""
    file = folder / "record.jsonl"
    file.write_text(text)
    return str(file)


def test_the_record_goes_to_the_output_and_replays_from_a_file(url: str, tmp_path: Path) -> None:
    done = here("record", "--ledger", url)
    assert done.returncode == 0
    ledger = SqlLedger(url)
    assert done.stdout == "".join(export_record(ledger))
    ledger.close()
    assert "hunter2" not in done.stdout and "dora" in done.stdout
    replayed = here("replay", saved(tmp_path, done.stdout))
    assert replayed.returncode == 0
    assert replayed.stdout.endswith("4 decisions asked for again, none differs\n")


def test_one_thread_and_what_came_after_a_time(url: str) -> None:
    whole, one = here("record", "--ledger", url), here("record", "--ledger", url, "--thread", "one")
    half = (len(whole.stdout.splitlines()) - 2) // 2
    assert len(one.stdout.splitlines()) == half + 2
    later = START + timedelta(minutes=30)
    for since in (later.isoformat(), later.replace(tzinfo=None).isoformat()):
        assert len(here("record", "--ledger", url, "--since", since).stdout.splitlines()) == half + 2


def test_a_line_that_was_altered_is_an_error_that_names_it(url: str, tmp_path: Path) -> None:
    lines = here("record", "--ledger", url).stdout.splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if "dora" in line)
    lines[place] = lines[place].replace("dora", "flora")
    done = here("replay", saved(tmp_path, "".join(lines)))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"line {place + 1} of the record: it was changed" in done.stderr


def test_what_differs_is_told_with_its_line_and_tool_and_the_exit_code_says_so(url: str, tmp_path: Path) -> None:
    chain, lines = "", []
    for text in here("record", "--ledger", url).stdout.splitlines():
        plain = json.loads(text)
        del plain["chain"]
        if plain["kind"] == "judged":
            plain["detail"]["given"]["facts"] = {"stopped": True}
        chain, line = _chained(chain, plain)
        lines.append(line)
    done = here("replay", saved(tmp_path, "".join(lines)))
    assert done.returncode == 1
    first, *_, last = done.stdout.splitlines()
    assert first == ("line 2, send: recorded ask approval_required (surface); today deny stopped (switch)")
    assert last.endswith("2 differ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["replay", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["record", "--ledger", "sqlite:///nowhere.db"], "there is no ledger"),
        (["record", "--ledger", "{url}", "--since", "yesterday"], "--since is 'yesterday'"),
    ],
)
def test_a_wrong_use_is_one_sentence_and_exit_code_two(url: str, arguments: list[str], said: str) -> None:
    done = here(*(argument.replace("{url}", url) for argument in arguments))
    assert done.returncode == 2
    assert said in done.stderr
