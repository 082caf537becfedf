"""One scripted conversation gives the same requests, decisions, results and history through every host."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.conversation.script import CONVERSATION, Played, play
from toolgate_langchain import Verdict, replay_record
from toolgate_langchain.approvals.recording.lines import read_record
from toolgate_langchain.testing import all_hosts

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]

RUNS, REFUSED = "runs", "refused"

EXPECTED = {
    "1": (RUNS, "not_required", False),
    "2a": (RUNS, "not_required", False),
    "2b": (RUNS, "not_required", False),
    "3": (RUNS, "approved", True),
    "4": (RUNS, "approved", True),
    "5": (REFUSED, "rejected", True),
    "6": (REFUSED, "rejected", False),
    "7": (RUNS, "approved", True),
    "8": (RUNS, "approved", True),
    "9a": (RUNS, "approved", True),
    "9b": (RUNS, "not_required", False),
    "9c": (REFUSED, "rejected", True),
    "10": (RUNS, "approved", True),
    "11": (RUNS, "approved", True),
    "12": (REFUSED, "replaced", False),
    "13": (REFUSED, "responded", True),
    "14": (RUNS, "approved", True),
    "15": (RUNS, "standing_rule", False),
    "16": (RUNS, "approved", True),
    "17": (RUNS, "approved", True),
    "18": (RUNS, "standing_rule", False),
    "19": (REFUSED, "rejected", True),
    "20": (REFUSED, "standing_deny", False),
    "21": (RUNS, "approved", True),
    "22": (REFUSED, "bad_answers", True),
    "23": (REFUSED, "unknown_tool", False),
    "24": (REFUSED, "invalid_arguments", False),
    "25": (REFUSED, "invalid_arguments", False),
    "26": (REFUSED, "invalid_arguments", False),
    "27": (REFUSED, "requires_admin", False),
    "28": (REFUSED, "tool_disabled", False),
    "29a": (RUNS, "approved", True),
    "29b": (RUNS, "approved", True),
    "30": (RUNS, "not_required", False),
    "31": (RUNS, "approved", True),
    "32": (REFUSED, "argument_policy", False),
    "33": (RUNS, "approved", True),
    "34": (RUNS, "heuristic:knows_what_is_fine", False),
    "35": (RUNS, "heuristic:knows_what_is_fine", False),
    "36": (RUNS, "heuristic:knows_what_is_fine", False),
    "37": (RUNS, "approved", True),
    "38": (REFUSED, "rejected", True),
    "39a": (RUNS, "approved", True),
    "39b": (REFUSED, "rejected", True),
    "39c": (RUNS, "approved", True),
    "39d": (REFUSED, "too_many_requests", False),
    "40": (REFUSED, "superseded", False),
}
"""What becomes of each call. 26 is unreadable."""


@cache
def through(position: int) -> Played:
    return play(HOSTS[position])


def through_the_first() -> Played:
    return through(0)


every_host = pytest.mark.parametrize("position", range(len(HOSTS)), ids=NAMES)


@every_host
def test_the_conversation_goes_as_the_tables_say_and_as_through_the_first_host(position: int) -> None:
    played = through(position)
    decided = {
        call_id: (RUNS if verdict is Verdict.ALLOW else REFUSED, code, asked)
        for call_id, (_, _, verdict, code, _, asked) in played.outcomes.items()
    }
    assert decided == EXPECTED
    # Exactly one result for each call, and nothing ran that was refused.
    assert set(played.results) == set(EXPECTED)
    assert len(played.ran) == sum(becomes == RUNS for becomes, _, _ in EXPECTED.values())
    for call_id, (becomes, _, _) in EXPECTED.items():
        assert (" did {" in played.results[call_id]) is (becomes == RUNS), call_id
    assert played == through_the_first()


@every_host
def test_the_record_says_of_each_call_once_what_the_observer_was_told_and_replays_to_the_same(position: int) -> None:
    played = through(position)
    lines = [line for _, line in read_record(played.record)]
    told: dict[str, list[Any]] = {}
    for line in lines:
        told.setdefault(line["kind"], []).append(line["detail"])
    decided = [(one["call"]["id"], one["call"]["tool"], one["decision"]) for one in told["decided"]]
    assert len(decided) == len(EXPECTED)
    assert {call_id: (name, said["verdict"], said["code"]) for call_id, name, said in decided} == {
        call_id: (name, verdict.value, code) for call_id, (name, _, verdict, code, _, _) in played.outcomes.items()
    }
    assert {one["call"]["id"] for one in told["ended"]} == {
        call_id for call_id, (becomes, _, _) in EXPECTED.items() if becomes == RUNS
    }
    replayed = replay_record(played.record)
    assert (replayed.differences, replayed.lines) == ([], len(lines))
    assert replayed.decisions > len(EXPECTED)


@every_host
def test_it_goes_the_same_where_nobody_listens_and_calls_take_the_short_ways(position: int) -> None:
    played, listened_to = play(HOSTS[position], watched=False), through_the_first()
    policy = {"32", "33"}
    assert played.shown == [one for one in listened_to.shown if one["call"] not in policy]
    assert played.results == {key: text for key, text in listened_to.results.items() if key not in policy}
    assert played.ran == [one for one in listened_to.ran if not one.startswith("fetch")]


def test_the_conversation_has_forty_turns_with_calls() -> None:
    turns = [turn for exchange in CONVERSATION for turn in exchange.turns]
    assert len(turns) == 40
    assert all(turn.tool_calls or turn.invalid_tool_calls for turn in turns)
