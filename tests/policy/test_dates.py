"""Days and times of day are taken out of a text, so that their digits are not numbers of anything else."""

from __future__ import annotations

import pytest

from toolgate_langchain.policy.dates import Day, Moment, days_and_times, read_moment


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("at 14:05", (14, 5)),
        ("at 9:00", (9, 0)),
        ("at 9:00:30.5", (9, 0)),
        ("at 9:05 am", (9, 5)),
        ("at 9:05 p.m", (21, 5)),
        ("at 12:30 am", (0, 30)),
        ("at 12:30 pm", (12, 30)),
        ("at 3pm", (15, 0)),
        ("at 3 AM", (3, 0)),
        ("at 12am", (0, 0)),
        ("at 12pm", (12, 0)),
    ],
)
def test_a_time_of_day_is_read_as_people_write_it(text: str, time: Moment) -> None:
    assert days_and_times(text) == (set(), {time}, "at  . ")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-01-02", (2026, 1, 2)),
        ("January 2nd, 2026", (2026, 1, 2)),
        ("sept. 30", (None, 9, 30)),
        ("3 of May 2026", (2026, 5, 3)),
        ("21st DEC", (None, 12, 21)),
    ],
)
def test_a_day_is_read_as_people_write_it(text: str, day: Day) -> None:
    assert days_and_times(text) == ({day}, set(), " . ")


def test_what_is_neither_stays_in_the_text() -> None:
    text = "pay 12 to 5, of 2026 in all, by 1:2:3:4"
    assert days_and_times(text) == (set(), set(), text)


def test_all_that_a_text_says_is_read() -> None:
    assert days_and_times("2026-01-02 at 14:00 or May 3 at 3pm: 7") == (
        {(2026, 1, 2), (None, 5, 3)}, {(14, 0), (15, 0)}, " .  at  .  or  .  at  . : 7",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-02", ((2026, 1, 2), None)),
        ("2026-01-02T14:05", ((2026, 1, 2), (14, 5))),
        (" 2026-01-02 14:05:00.000000+05:30 ", ((2026, 1, 2), (14, 5))),
        ("2026-01-02T00:00Z", ((2026, 1, 2), (0, 0))),
        ("2026-01-02T14:05:07", None),
        ("2026-01-02 and 5", None),
        ("", None),
    ],
)
def test_a_value_that_is_nothing_but_a_moment_is_read_to_the_minute(
    value: str, moment: tuple[Day, Moment | None] | None
) -> None:
    assert read_moment(value) == moment


def test_a_value_of_more_than_40_characters_is_no_moment_however_many_blanks_it_has() -> None:
    assert read_moment("2026-01-02".ljust(40)) == ((2026, 1, 2), None)
    assert read_moment("2026-01-02".ljust(41)) is None
