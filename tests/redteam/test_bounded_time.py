"""Hostile input costs a bounded time. The bounds are far above what is measured and far below a hang."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile
from toolgate_langchain.approvals.shown import show_arguments, show_text
from toolgate_langchain.catalog.json_schema import JsonSchemaValidator
from toolgate_langchain.errors import InvalidArgumentsError

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


class Within:
    """Fails when what it holds took longer than this many seconds of this process."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.started = process_time()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            assert process_time() - self.started < self.seconds


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("\u200b" * 1_000_000, True),
        (("a" + " " * 24) * 40_000, False),
        ("\n\n\nx" * 250_000, False),
        ("\u00e9" * 1_000_000, False),
        ("\U000e0041x" * 500_000, True),
    ],
    ids=["invisible", "blanks", "lines", "accents", "tags"],
)
def test_a_huge_text_is_shown_in_part_and_says_what_it_hides(text: str, warned: bool) -> None:
    with Within(5):
        shown = show_text(text)
    assert len(shown.text) < 21_000
    assert "the text is too long to show in full" in shown.warnings
    assert any("invisible" in warning for warning in shown.warnings) is warned


def test_an_invisible_character_in_the_part_that_is_left_out_is_still_warned_of() -> None:
    hidden = show_text("x" * 50_000 + "\u202e" + "x" * 50_000)
    assert any("invisible" in warning for warning in hidden.warnings)
    assert "\u202e" not in hidden.text
    assert not any("invisible" in warning for warning in show_text("x" * 100_001).warnings)


@pytest.mark.parametrize("character", "\u180b\u180c\u180d\u180f\U00016fe4\U0001d159\U00013441")
def test_marks_that_show_as_nothing_are_shown_as_escapes(character: str) -> None:
    assert show_text(f"rm{character}x").warnings
    assert show_text("rm x").warnings == ()


def test_thousands_of_names_that_look_the_same_are_each_shown() -> None:
    names = [f"k{' ' * 25}{' ' * number}" for number in range(1, 5_001)]
    collapsing = {f"k\u2002{' ' * (25 + number)}": number for number in range(200)}
    with Within(5):
        shown, _ = show_arguments(dict.fromkeys(names, "v"))
    assert len(shown) == len(names)
    assert len(show_arguments(collapsing)[0]) == 200


DOUBLING = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)} | {"a40": {}}


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"$defs": DOUBLING, "$ref": "#/$defs/a0"}, {"a": 1}, {"$defs": DOUBLING, "$ref": "#/$defs/a35"}),
        (
            {"properties": {"a": {"pattern": "^(a|aa)+$"}}},
            {"a": "a" * 5_000 + "!"},
            {"properties": {"a": {"pattern": "a"}}},
        ),
        (
            {"properties": {"a": {"items": {"pattern": "^(x+x+)+y$"}}}},
            {"a": ["x" * 400 + str(number) for number in range(2_000)]},
            {"properties": {"a": {"items": {"pattern": "^x"}}}},
        ),
        (
            {"patternProperties": {f"^x{i}": {} for i in range(300)}, "additionalProperties": False},
            {f"y{i}": 1 for i in range(20_000)},
            {"additionalProperties": True},
        ),
    ],
    ids=["doubling references", "a backtracking pattern", "many slow matches", "many patterns and names"],
)
def test_a_schema_that_would_take_forever_is_given_up(schema: Any, value: Any, fits: Any) -> None:
    with Within(8), pytest.raises(InvalidArgumentsError):
        JsonSchemaValidator(schema).check(value)
    JsonSchemaValidator(fits).check(value)


def test_a_long_turn_with_one_call_that_is_asked_about_does_not_read_the_whole_turn_for_each_call() -> None:
    ran = Recorder()
    calls = [call("read", f"r{number}", x=number) for number in range(300)]
    talk = chat([says(*calls, call("send", "s"))], [ran.tool("read", READ), ran.tool("send", SEND)])
    talk.say()
    with Within(10):
        talk.answer()
    assert len(ran.runs) == 301
