"""Days and times of day in a text, taken out of it, so that their digits are not numbers of anything else."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Day", "Moment", "days_and_times", "read_moment"]

Day = tuple[int | None, int, int]
"""Year (`None` where none is said), month and day."""
Moment = tuple[int, int]
"""Hour and minute."""

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun"),
            ("july", "jul"), ("august", "aug"), ("september", "sep", "sept"), ("october", "oct"),
            ("november", "nov"), ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:,?\s{1,3}(?P<year>[12]\d{3}))?"

_ISO: Final = re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?!\d)")
_MONTH_FIRST: Final = re.compile(
    rf"\b(?P<month>{_MONTH})\.?\s{{1,3}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}", re.IGNORECASE
)
_DAY_FIRST: Final = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s{{1,3}}(?:of\s{{1,3}})?(?P<month>{_MONTH})\b\.?{_YEAR}", re.IGNORECASE
)
_TIME: Final = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2}(?:\.\d{1,6})?)?(?![\d:])(?:\s?(?P<half>[ap])\.?m\b)?"
    r"|\b(?P<hour2>\d{1,2})\s?(?P<half2>[ap])\.?m\b",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::00(?:\.0{1,6})?)?(?:Z|[+-][01][0-9]:?(?:00|15|30|45))?)?"
)
"""To the minute, as people say it: digits behind it would be nobody's words."""


def days_and_times(text: str) -> tuple[set[Day], set[Moment], str]:
    """The days and times that a text says, and the text without them."""
    days: set[Day] = set()
    times: set[Moment] = set()
    for pattern in (_ISO, _MONTH_FIRST, _DAY_FIRST):
        for found in pattern.finditer(text):
            month = found["month"]
            number = int(month) if month.isdigit() else _MONTHS[month.casefold()]
            days.add((int(found["year"]) if found["year"] else None, number, int(found["day"])))
        text = pattern.sub(" . ", text)
    for found in _TIME.finditer(text):
        half = (found["half"] or found["half2"] or "").lower()
        hour = int(found["hour"] or found["hour2"])
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        times.add((hour, int(found["minute"] or 0)))
    return days, times, _TIME.sub(" . ", text)


def read_moment(value: str) -> tuple[Day, Moment | None] | None:
    """The day, and the time of day where there is one, of a text that is nothing else; else `None`."""
    if len(value) > 40 or (found := _WHOLE.fullmatch(value.strip())) is None:
        return None
    year, month, day, hour, minute = found.groups()
    return (int(year), int(month), int(day)), None if hour is None else (int(hour), int(minute))
