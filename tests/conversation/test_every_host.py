"""One scripted conversation gives the same requests, decisions, results and history through every host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
    "1a": (RUNS, "approved", True),
    "1b": (RUNS, "not_required", False),
    "1c": (REFUSED, "rejected", True),
    "2a": (RUNS, "not_required", False),
    "2b": (RUNS, "not_required", False),
    "fresh 1": (RUNS, "approved", True),
    "3": (REFUSED, "rejected", True),
    "fresh 2": (RUNS, "approved", True),
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
    "24a": (REFUSED, "invalid_arguments", False),
    "24b": (REFUSED, "invalid_arguments", False),
    "25": (RUNS, "not_required", False),
    "i1": (RUNS, "approved", True),
    "i2": (RUNS, "not_required", False),
    "i3": (REFUSED, "rejected", True),
    "26": (REFUSED, "invalid_arguments", False),
    "27a": (REFUSED, "requires_admin", False),
    "27b": (REFUSED, "tool_disabled", False),
    "28": (RUNS, "approved", True),
    "29a": (RUNS, "approved", True),
    "29b": (RUNS, "approved", True),
    "30a": (RUNS, "not_required", False),
    "30b": (RUNS, "approved", True),
    "31": (RUNS, "standing_rule", False),
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
    "41": (RUNS, "standing_rule", False),
}
"""What becomes of each call. 26 is unreadable; the fresh ids are of the calls without an id of their own."""

NOT_IN_THE_HISTORY = {"i1", "i2", "i3", "41"}
"""Calls of the agent inside, and of another conversation: their results are in histories of their own."""


ENTERS = {"25": 3}
"""How often a call enters its tool, where not once: the agent inside pauses it for each of its two requests."""


def decided_again(position: int) -> dict[str, int]:
    """Which calls are decided, and told of, more often than once, and how often.

    A call that nobody is asked about has no grant, so that nothing but its host knows that it was paused.
    A GatedAgent does; LangGraph begins its task anew, and the call is judged again as it enters.
    """
    return {} if HOSTS[position].name == "GatedAgent" else ENTERS


@cache
def through(position: int) -> Played:
    return play(HOSTS[position])


def through_the_first() -> Played:
    return through(0)


def more_than_once(ids: Iterable[str]) -> dict[str, int]:
    return {call_id: times for call_id, times in Counter(ids).items() if times > 1}


every_host = pytest.mark.parametrize("position", range(len(HOSTS)), ids=NAMES)


@every_host
def test_the_conversation_goes_as_the_tables_say_and_as_through_the_first_host(position: int) -> None:
    played = through(position)
    decided = {
        call_id: (RUNS if verdict is Verdict.ALLOW else REFUSED, code, asked)
        for call_id, (_, _, verdict, code, _, asked) in played.outcomes.items()
    }
    assert decided == EXPECTED
    # The observer is told of each call once, and where it is told again, of the same.
    assert more_than_once(call_id for call_id, *_ in played.told) == decided_again(position)
    assert len({repr(one) for one in played.told}) == len(EXPECTED)
    # Exactly one result for each call, and nothing ran that was refused.
    assert set(played.results) == set(EXPECTED) - NOT_IN_THE_HISTORY
    assert len(played.ran) == sum(becomes == RUNS for becomes, _, _ in EXPECTED.values())
    for call_id, text in played.results.items():
        assert (" did {" in text) is (EXPECTED[call_id][0] == RUNS), call_id
    assert played == through_the_first()


@every_host
def test_the_record_says_of_each_call_once_what_the_observer_was_told_and_replays_to_the_same(position: int) -> None:
    played = through(position)
    lines = [line for _, line in read_record(played.record)]
    told: dict[str, list[Any]] = {}
    for line in lines:
        told.setdefault(line["kind"], []).append(line["detail"])
    names = played.names
    decided = [(one["call"]["id"], one["call"]["tool"], one["decision"]) for one in told["decided"]]
    assert more_than_once(call_id for call_id, *_ in decided) == decided_again(position)
    assert {names.get(call_id, call_id): (name, said["verdict"], said["code"]) for call_id, name, said in decided} == {
        call_id: (name, verdict.value, code) for call_id, (name, _, verdict, code, _, _) in played.outcomes.items()
    }
    ended = [(names.get(one["call"]["id"], one["call"]["id"]), one["status"]) for one in told["ended"]]
    finished = [(call_id, "finished") for call_id, (becomes, _, _) in EXPECTED.items() if becomes == RUNS]
    paused = [(call_id, "paused") for call_id, times in ENTERS.items() for _ in range(times - 1)]
    assert sorted(ended) == sorted(finished + paused)
    replayed = replay_record(played.record)
    assert (replayed.differences, replayed.lines) == ([], len(lines))
    assert replayed.decisions > len(EXPECTED)


@every_host
def test_it_goes_the_same_where_nobody_listens_and_calls_take_the_short_ways(position: int) -> None:
    played, listened_to = play(HOSTS[position], watched=False), through_the_first()
    policy = {"32", "33"}
    assert played.shown == [one for one in listened_to.shown if one["call"] not in policy]
    assert played.results == {key: text for key, text in listened_to.results.items() if key not in policy}
    elsewhere = "tidy {'room': 'loft'}"
    assert played.ran == [one for one in listened_to.ran if not one.startswith("fetch") and one != elsewhere]


def test_the_conversation_has_forty_turns_with_calls() -> None:
    turns = [turn for exchange in CONVERSATION for turn in exchange.turns]
    assert len(turns) == 40
    assert all(turn.tool_calls or turn.invalid_tool_calls for turn in turns)
