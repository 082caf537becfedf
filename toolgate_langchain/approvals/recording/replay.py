"""The record replayed: each question is asked again, and whatever differs is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.recording.entries import FORMAT
from toolgate_langchain.approvals.recording.given import read_given
from toolgate_langchain.approvals.recording.lines import read_record
from toolgate_langchain.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from toolgate_langchain.policy.decision import Decision

__all__ = ["Difference", "Replayed", "replay_record"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One decision of a record that is not what `decide` says today."""

    line: int
    """Its place in the file, from 1."""
    tool: str
    recorded: str
    """What the record says, in words."""
    today: str
    """What comes out today, or what would have had to be there."""


@dataclass(slots=True)
class Replayed:
    """What came of replaying a record."""

    lines: int = 0
    """Lines that were read."""
    decisions: int = 0
    """Decisions that were asked for again."""
    differences: list[Difference] = field(default_factory=list)


def replay_record(lines: Iterable[str]) -> Replayed:
    """Ask every question of a record again, with what was given to `decide` then, and compare.

    A call that ran is also compared with what let it run: `decide` alone, or a person's approval of what it asked
    about. A refusal may be stricter than what `decide` said, as where a person said no.

    Args:
        lines: The lines that `export_record` or `toolgate record` wrote, as an open file gives them.

    Returns:
        What differs: nothing for a record that tells the truth, as long as `decide` is what it was.

    Raises:
        RecordError: At a line that cannot be read or was altered; see `read_record`.
    """
    done = Replayed()
    for place, plain in read_record(lines):
        done.lines += 1
        if plain["kind"] not in ("judged", "decided"):
            continue
        try:
            found = list(_differences(place, plain["detail"], done))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordError(place, f"it cannot be replayed: {type(error).__name__}: {error}") from error
        done.differences += found
    return done


def _differences(place: int, detail: Mapping[str, Any], done: Replayed) -> Iterator[Difference]:
    if detail["v"] != FORMAT:
        raise RecordError(place, f"its entry has version {detail['v']!r}; this version reads {FORMAT}")
    call, decision, said = detail["call"], detail["decision"], detail.get("said")
    name = call["tool"]
    if said is not None:
        asked = {**call, "arguments": detail["asked_with"]} if "asked_with" in detail else call
        today = _plain(read_given(detail["given"], asked, detail["where"])())
        done.decisions += 1
        if today != said:
            yield Difference(place, name, _words(said), _words(today))
    if decision["verdict"] == "allow" and (missing := _unfounded(detail, said)):
        yield Difference(place, name, _words(decision), missing)


def _unfounded(detail: Mapping[str, Any], said: Mapping[str, Any] | None) -> str:
    """What a call that runs would have had to have, in words; empty where it had it."""
    by = detail.get("by", {})
    if said is None:
        return "nothing was asked that could have let it run"
    if by.get("kind") == "person":
        approved = by.get("answer") in ("approved", "edited") and said["verdict"] != "deny"
        return "" if approved else "a person's approval, and no denial"
    same = said["verdict"] == "allow" and said["code"] == detail["decision"]["code"]
    return "" if same else "an allow of the same code, or a person's approval"


def _plain(decision: Decision) -> dict[str, Any]:
    return {
        "verdict": decision.verdict.value,
        "code": decision.code,
        "layer": decision.layer.value,
        "must_ask": decision.must_ask,
        "needs_person": decision.needs_person,
    }


def _words(decision: Mapping[str, Any]) -> str:
    return f"{decision['verdict']} {decision['code']} ({decision['layer']})"
