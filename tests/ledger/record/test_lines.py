"""The record as lines: complete, in constant memory, and nothing that was changed is read."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from tests.support import Clock, Recorder, call, chat, says
from toolgate_langchain import (
    ApprovalAnswer,
    InMemoryLedger,
    SqlLedger,
    Tier,
    ToolGate,
    ToolProfile,
    export_record,
    replay_record,
)
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.approvals.recording.entries import Entry
from toolgate_langchain.approvals.recording.lines import read_record
from toolgate_langchain.approvals.sql.tables import EVENTS
from toolgate_langchain.errors import ConfigurationError, LedgerError, RecordError


@cache
def record() -> tuple[str, ...]:
    """The record of a short conversation."""
    ran, ledger = Recorder(), RecordingInMemoryLedger(clock=Clock())
    turns = [says(call("send", "a", to="ann"), call("send", "b", to="bob")), says(call("nothing", "c"))]
    talk = chat(turns, [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))], gate=ToolGate(ledger=ledger))
    talk.say()
    talk.answer(by="dora")
    talk.answer("reject")
    return tuple(export_record(ledger))


def refused(lines: list[str]) -> RecordError:
    with pytest.raises(RecordError) as raised:
        replay_record(lines)
    return raised.value


class TestReadBack:
    def test_what_is_written_is_read_back_and_replays_without_a_difference(self) -> None:
        done = replay_record(record())
        assert (done.lines, done.differences) == (len(record()) - 2, [])
        assert done.decisions >= 4

    def test_each_line_stands_by_itself_with_version_place_time_and_what_was_decided(self) -> None:
        for line in record()[1:-1]:
            plain = json.loads(line)
            assert plain["v"] == plain["detail"]["v"] == 1
            assert datetime.fromisoformat(plain["at"]).tzinfo is not None
            assert plain["detail"]["call"]["tool"] and plain["detail"]["where"]["run"]

    @given(st.data())
    def test_a_line_that_was_changed_anywhere_is_an_error(self, data: st.DataObject) -> None:
        lines = list(record())
        place = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[place]) - 2))
        other = data.draw(st.characters(exclude_characters=lines[place][at] + "\r\n"))
        lines[place] = lines[place][:at] + other + lines[place][at + 1 :]
        assert refused(lines).line <= place + 2

    @given(st.data())
    def test_a_line_that_was_taken_out_repeated_or_moved_is_an_error(self, data: st.DataObject) -> None:
        lines = list(record())
        place, other = data.draw(st.lists(st.integers(0, len(lines) - 1), min_size=2, max_size=2, unique=True))
        without = [line for at, line in enumerate(lines) if at != place]
        refused(without)
        refused([*without[:other], lines[place], *without[other:]])
        refused([*lines[:place], lines[place], *lines[place:]])

    def test_a_file_that_ends_too_soon_is_an_error_that_says_so(self) -> None:
        assert "the end of the record is missing" in str(refused(list(record()[:-1])))
        assert "the end of the record is missing" in str(refused([]))

    @pytest.mark.parametrize("line", ["", "\n", "[]", '{"v": 1}', "nonsense", "[" * 100_000, '{"v": 2, "kind": "x"}'])
    def test_a_line_that_cannot_be_read_is_an_error_that_names_it(self, line: str) -> None:
        error = refused([record()[0], line, *record()[1:]])
        assert error.line == 2
        assert "line 2 of the record" in str(error)

    def test_a_number_that_json_does_not_have_is_an_error(self) -> None:
        assert refused([record()[0], '{"v": 1, "kind": "decided", "detail": NaN}']).line == 2


def remade(change: Any) -> list[str]:
    """The record with something changed and the chain made anew, as by somebody who takes the trouble."""
    from toolgate_langchain.approvals.recording.lines import _chained

    chain, lines = "", []
    for text in record():
        plain = json.loads(text)
        del plain["chain"]
        change(plain)
        chain, line = _chained(chain, plain)
        lines.append(line)
    return lines


class TestReplay:
    """A record whose chain was made anew is read; what does not follow from what was given is told."""

    def test_the_control(self) -> None:
        assert replay_record(remade(lambda plain: None)).differences == []

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (["said", "verdict"], "allow"),
            (["said", "must_ask"], True),
            (["given", "surface", "answers"], ["allow", "allow", "allow", "allow"]),
            (["given", "tool", "tier"], "read_only"),
            (["given", "facts"], {"stopped": True}),
            (["given", "facts"], {"heuristic": "made_up", "heuristics_run": True}),
            (["given", "memory"], {"rejected": True}),
            (["given", "policies"], [["new", "deny", ""]]),
        ],
    )
    def test_a_decision_that_does_not_follow_from_what_was_given_is_told(self, path: list[str], value: Any) -> None:
        def change(plain: dict[str, Any]) -> None:
            if plain["kind"] == "judged":
                inside = plain["detail"]
                for name in path[:-1]:
                    inside = inside[name]
                assert inside.get(path[-1]) != value
                inside[path[-1]] = value

        assert replay_record(remade(change)).differences

    def test_a_call_that_ran_without_a_yes_is_told(self) -> None:
        def nobody(plain: dict[str, Any]) -> None:
            if plain["kind"] == "decided" and plain["detail"]["decision"]["verdict"] == "allow":
                plain["detail"]["by"] = {"kind": "configuration"}

        def refused_and_ran(plain: dict[str, Any]) -> None:
            if plain["kind"] == "decided" and plain["detail"]["call"]["id"] == "b":
                plain["detail"]["decision"]["verdict"] = "allow"

        for change in (nobody, refused_and_ran):
            (difference,) = replay_record(remade(change)).differences
            assert "approval" in difference.today or "nothing was asked" in difference.today

    @pytest.mark.parametrize("gone", ["given", "where", "call", "decision"])
    def test_an_entry_that_cannot_be_replayed_is_an_error_and_not_left_out(self, gone: str) -> None:
        with pytest.raises(RecordError, match="cannot be replayed"):
            replay_record(remade(lambda plain: plain.get("detail", {}).pop(gone, None)))


class TestExport:
    def test_one_thread_with_all_that_happened_to_its_requests(self, sql: SqlLedger) -> None:
        ran = Recorder()
        for thread in ("one", "two"):
            talk = chat(
                [says(call("send", "a"))],
                [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))],
                gate=ToolGate(ledger=sql),
                thread=thread,
            )
            talk.say()
            talk.answer()
        one = [line for _, line in read_record(export_record(sql, thread_id="one"))]
        both = [line for _, line in read_record(export_record(sql))]
        assert len(one) * 2 == len(both)
        assert {"judged", "answered", "grant_issued", "decided", "start_started", "call_finished", "ended"} <= {
            line["kind"] for line in one
        }

    def test_since_a_time(self, databases: Any) -> None:
        clock = Clock()
        ledger = databases.ledger(clock=clock)
        ledger.answer("r1", ApprovalAnswer(type="approve"))
        clock.forward(hours=1)
        ledger.answer("r2", ApprovalAnswer(type="approve"))
        lines = [line for _, line in read_record(export_record(ledger, since=clock.now))]
        assert [line["request"] for line in lines] == ["r2"]
        assert len(list(read_record(export_record(ledger, since=clock.now - timedelta(hours=1))))) == 2

    def test_the_same_record_gives_the_same_lines(self, sql: SqlLedger) -> None:
        sql.answer("r1", ApprovalAnswer(type="approve"))
        assert list(export_record(sql)) == list(export_record(sql))

    def test_a_ledger_without_a_record_is_an_error(self) -> None:
        with pytest.raises(ConfigurationError, match="InMemoryLedger keeps no record"):
            export_record(InMemoryLedger())

    def test_a_time_without_a_zone_is_an_error(self) -> None:
        with pytest.raises(ConfigurationError, match="has no zone"):
            export_record(RecordingInMemoryLedger(), since=datetime(2026, 1, 2))  # noqa: DTZ001

    def test_a_long_record_is_read_in_constant_memory(self, databases: Any) -> None:
        ledger = databases.ledger()

        def fill(connection: Any) -> None:
            detail = '{"x":"' + "y" * 4_000 + '"}'
            connection.execute(insert(EVENTS), [{"at": n, "kind": "asked", "detail": detail} for n in range(2_500)])

        ledger._database.write(fill)
        list(islice(export_record(ledger), 10))
        tracemalloc.start()
        count = sum(1 for _ in read_record(export_record(ledger)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == 2_500
        # The lines together are more than 10 MB.
        assert peak < 8_000_000


def test_entries_whose_commit_was_answered_by_nobody_are_written_once(sql: SqlLedger) -> None:
    """The word of a commit can be lost; what is tried again is not written twice."""
    entries = [Entry("decided", f"r{number}", "thread", {"v": 1}) for number in range(2)]
    transaction, tries = sql._database._transaction, []

    def loses_the_word(*args: Any, **kwargs: Any) -> Any:
        done = transaction(*args, **kwargs)
        tries.append(args)
        if len(tries) == 1:
            from sqlalchemy.exc import OperationalError

            raise OperationalError("COMMIT", {}, ConnectionError("lost"), connection_invalidated=True)
        return done

    sql.prepare()
    sql._database._transaction = loses_the_word  # type: ignore[method-assign]
    sql.note(entries)
    events: Any = sql.events()
    assert (len(tries), [event.request_id for event in events]) == (2, ["r0", "r1"])
    assert events[0].at <= datetime.now(UTC)


def test_what_was_written_is_not_changed_by_hand(sql: SqlLedger) -> None:
    from sqlalchemy import update

    sql.note([Entry("decided", "r", None, {"v": 1})])
    with pytest.raises(LedgerError, match="only added"):
        sql._database.write(lambda connection: connection.execute(update(EVENTS).values(detail="{}")))
