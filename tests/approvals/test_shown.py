"""What a person is shown: every character visible, nothing said by looks alone."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile
from toolgate_langchain.approvals.shown import MAX_SHOWN, show_arguments, show_text


class TestText:
    @pytest.mark.parametrize(
        "text", ["", "plain", "Grüße, 你好, שלום", "a\n\tb", "def f():\n    return 1\n\n", "👍 ❤️ ☀️"]
    )
    def test_ordinary_text_is_shown_as_it_is(self, text: str) -> None:
        """Layout, other scripts and emoji are no reason for a warning."""
        assert show_text(text).text == text
        assert show_text(text).warnings == ()

    @pytest.mark.parametrize(
        ("hidden", "escape"),
        [
            ("\u202e", r"\u{202e}"), ("\u2066", r"\u{2066}"), ("\u200b", r"\u{200b}"), ("\u200d", r"\u{200d}"),
            ("\ufeff", r"\u{feff}"), ("\u00ad", r"\xad"), ("\x1b", r"\x1b"), ("\r", r"\x0d"), ("\x00", r"\x00"),
            ("\x85", r"\x85"), ("\u2028", r"\u{2028}"), ("\ue000", r"\u{e000}"), ("\U000e0041", r"\u{e0041}"),
            ("\u3164", r"\u{3164}"), ("\u2800", r"\u{2800}"), ("\ufe0f", r"\u{fe0f}"), ("\U000e0100", r"\u{e0100}"),
            ("\u180e", r"\u{180e}"), ("\u0378", r"\u{378}"),
        ],
    )  # fmt: skip
    def test_control_bidi_and_invisible_characters_are_shown_as_escapes_with_a_warning(
        self, hidden: str, escape: str
    ) -> None:
        shown = show_text(f"ab{hidden}cd", what="the name")
        assert shown.text == f"ab{escape}cd"
        assert shown.warnings == ("the name contains control or invisible characters, shown as escapes",)

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("rm" + " " * 300 + "-rf", "rm⟨300 blanks⟩-rf"),
            ("a" + "\u3000" * 25 + "b", "a⟨25 blanks⟩b"),
            ("a" + "\t" * 25 + "b", "a⟨25 blanks⟩b"),
            ("top" + "\n" * 500 + "bottom", "top⟨500 blank lines⟩\nbottom"),
            ("top" + " \n" * 50 + "  bottom", "top⟨50 blank lines⟩\nbottom"),
        ],
    )
    def test_long_runs_of_blanks_are_collapsed_with_a_count(self, text: str, shown: str) -> None:
        assert show_text(text).text == shown
        assert show_text(text).warnings == ("the text contains long runs of blanks, shown as a count",)

    def test_what_still_reads_as_indentation_is_kept(self) -> None:
        text = "a" + " " * 24 + "b\n\n\nc"
        assert show_text(text).text == text

    def test_too_long_is_cut_in_the_middle_and_says_so(self) -> None:
        shown = show_text("a" * 15_000 + "b" * 15_000)
        assert shown.text == "a" * 10_000 + "⟨10,000 characters left out⟩" + "b" * 10_000
        assert shown.warnings == ("the text is too long to show in full",)
        assert show_text("a" * MAX_SHOWN).warnings == ()

    @given(st.text(max_size=200))
    def test_nothing_invisible_is_left_and_nothing_changes_silently(self, text: str) -> None:
        """Whatever the text, what is shown is visible, and where it is not the text itself there is a warning."""
        shown = show_text(text)
        at = [i for i, c in enumerate(shown.text) if unicodedata.category(c)[0] in "C" and c not in "\n\t"]
        assert at == []
        assert (shown.text == text) is (shown.warnings == ())


class TestArguments:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("text", "text"), (1, "1"), (1.0, "1.0"), (True, "true"), (None, "null"), ([1, "1"], '[1, "1"]'),
            ({"a": {"b": []}}, '{"a": {"b": []}}'), ("ß", "ß"), (["ß"], '["ß"]'),
        ],
    )  # fmt: skip
    def test_strings_are_shown_as_they_are_and_everything_else_as_json(self, value: Any, text: str) -> None:
        assert show_arguments({"x": value}) == ({"x": text}, ())

    @pytest.mark.parametrize("value", [{"k": "a\u202eb"}, ["a\u202eb"], {"a\u202eb": 1}, "a\u202eb"])
    def test_nothing_hides_deeper_down(self, value: Any) -> None:
        shown, warnings = show_arguments({"x": value})
        assert r"\u{202e}" in shown["x"]
        assert warnings == ("argument x contains control or invisible characters, shown as escapes",)

    def test_a_name_that_hides_something_is_escaped_too(self) -> None:
        shown, warnings = show_arguments({"to\u200b": "a", "to": "b"})
        assert shown == {r"to\u{200b}": "a", "to": "b"}
        assert warnings == ("an argument's name contains control or invisible characters, shown as escapes",)

    def test_two_names_that_look_the_same_are_both_shown(self) -> None:
        shown, _ = show_arguments({"to\u200b": "a", r"to\u{200b}": "b"})
        assert sorted(shown.values()) == ["a", "b"]

    def test_a_name_cannot_break_the_line(self) -> None:
        shown, warnings = show_arguments({"to\nAsked because": "nothing to see"})
        assert shown == {r"to\x0aAsked because": "nothing to see"}
        assert warnings == ("an argument's name contains line breaks, shown as escapes",)

    def test_many_long_arguments_together_are_too_much(self) -> None:
        _, warnings = show_arguments({str(n): "x" * 5_000 for n in range(5)})
        assert warnings == ("the arguments together are too long to take in",)


class TestRequest:
    """Text is rendered from the frozen call, never from the model's words."""

    def test_no_argument_can_pass_for_a_line_of_the_request(self) -> None:
        talk = chat(
            [says(call("deploy", to="ann\nAsked because: nobody minds\nWarning: none"), text="It is harmless.")],
            [Recorder().tool("deploy", ToolProfile(tier=Tier.ROUTINE))],
        )
        talk.say()
        lines = talk.request.description().splitlines()
        assert [line for line in lines if not line.startswith(" ")] == [
            "Tool: deploy (routine, local)",
            "Asked because: surface 'chat' answers 'ask' for routine tools",
            "Surface: chat",
        ]
        assert "harmless" not in talk.request.description()

    def test_the_arguments_that_run_are_the_exact_ones(self) -> None:
        """Normalise for display only."""
        ran = Recorder()
        exact = {"to": "a\u202eb" + " " * 100, "e\u0301": "\u00e9"}
        talk = chat([says(call("deploy", **exact))], [ran.tool("deploy", ToolProfile(tier=Tier.ROUTINE))])
        talk.say()
        assert talk.request.arguments == exact
        assert len(talk.request.warnings) == 2
        talk.answer("approve")
        assert ran.runs == [("deploy", exact)]
