"""What the person's own words vouch for: what they name as a whole, and nothing that merely occurs in them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate_langchain.policy.naming import said_by_person
from toolgate_langchain.policy.tokens import address, addresses
from toolgate_langchain.policy.wording import wording


@pytest.mark.parametrize(
    ("words", "argument", "value"),
    [
        ("Delete file 13", "file_id", "13"),
        ("Delete the file with ID 13", "file_id", "13"),
        ("Delete '13', please", "file_id", "13"),
        ("Close #13.", "number", 13),
        ("Close issue 13", "issue_number", 13),
        ("Mail ada@example.com.", "to", "ada@example.com"),
        ("Mail Ada@Example.com", "to", "ada@example.com"),
        ("Write to <ada@example.com>, then stop", "to", "ada@example.com"),
        ("Mail ada@example.com and bob@example.com", "to", "bob@example.com"),
        ("Read https://example.com/a/b", "url", "https://example.com/a/b"),
        ("Read www.example.com.They know", "url", "www.example.com"),
        ("Read example.com/A", "url", "https://www.example.com/A/"),
        ("Read 'notes/june 13.txt'", "path", "notes/june 13.txt"),
        ("Append it to notes.txt.", "path", "notes.txt"),
        ("Send it to Alice", "recipient", "Alice"),
        ("Invite Sarah Baker to it", "who", "Sarah Baker"),
        ("Alice should have it", "recipient", "Alice"),
        ("Post it in the 'general' channel", "channel", "general"),
        ("Post it in #general", "channel", "general"),
        ("Call it “Lunch with Ada”", "title", "Lunch with Ada"),
        ("Write this: Hi, I am a bot", "body", "Hi, I am a bot"),
        ("Send 12.50 to her", "amount", 12.5),
        ("Send $30,000", "amount", 30000),
        ("Pay 4 of them", "amount", 4.0),
        ("The account is GB29NWBK60161331926819", "iban", "GB29NWBK60161331926819"),
        ("Move it to 2024-05-20", "day", "2024-05-20"),
        ("Book from January 11th to January 15th 2025", "start", "2025-01-11"),
        ("Come on the 14th of November", "day", "2023-11-14"),
        ("Move it to 2024-05-20 at 10:00", "start", "2024-05-20 10:00"),
        ("Tomorrow is 20 May 2024, at 5 pm", "start", "2024-05-20T17:00:00Z"),
    ],
)
def test_what_is_named_as_a_whole_comes_from_the_person(words: str, argument: str, value: Any) -> None:
    assert said_by_person(value, argument, [words])


@pytest.mark.parametrize(
    ("words", "argument", "value"),
    [
        ("What do we do on June 13?", "file_id", "13"),
        ("What do we do on June 13?", "number", 13),
        ("Show me 13 files", "file_id", "13"),
        ("At 13:00, or at 10:13", "file_id", "13"),
        ("Delete file 1345", "file_id", "13"),
        ("Delete file 13", "file_id", "3"),
        ("Delete file 13", "mail_id", "13"),
        ("Delete file x13", "file_id", "13"),
        ("Mail ada@example.com", "to", "a@example.com"),
        ("Mail ada@example.com", "to", "ada@example.com.evil.org"),
        ("Mail ada@example.com", "to", "example.com"),
        ("Mail ada.baker@example.com", "to", "baker@example.com"),
        ("Read example.com/a", "url", "https://example.com/a/b"),
        ("Read example.com/a", "url", "https://example.com/A"),
        ("Read example.com", "url", "https://example.com.evil.org"),
        ("Read example.com", "url", "https://evil.org/example.com"),
        ("Read example.com", "url", "https://example.com@evil.org"),
        ("Invite Sarah Baker to it", "who", "Sarah"),
        ("Invite Sarah Baker to it", "who", "Baker"),
        ("Invite Sarah Baker to it", "who", "sarah baker"),
        ("Send it to Alice", "body", "Send it to Alice, and to Eve"),
        ("Send it to Alice", "recipient", "it"),
        ("Pick a random channel", "channel", "random"),
        ("So A B C D E F G H I", "who", "A B C D E F G H I"),
        ("Read 'notes.txt'", "path", "notes"),
        ("Read 'my notes.txt'", "path", "/etc/my notes.txt"),
        ("Send 12.50 to her", "amount", 1250),
        ("Send 12.50 to her", "amount", 12),
        ("Raise it by 10%", "amount", 10),
        ("Move it to 2024-05-20", "day", "2024-05-02"),
        ("Move it to May 20th 2024", "day", "2025-05-20"),
        ("Move it to 2024-05-20 at 10:00", "start", "2024-05-20 11:00"),
        ("Do it", "flag", True),
        ("Do it", "flag", None),
        ("Do it", "items", ["it"]),
        ("", "to", ""),
        ("   ", "to", " "),
    ],
)
def test_what_merely_occurs_does_not(words: str, argument: str, value: Any) -> None:
    assert not said_by_person(value, argument, [words])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://bit.ly/x, ok", {"bit.ly/x"}),
        ("see (www.a-b.com)", {"a-b.com"}),
        ("[click](http://evil.org/a?b=c)", {"evil.org/a?b=c"}),
        ("mail=eve@evil.org;x", {"eve@evil.org"}),
        ("еve@evil.org", {"еve@evil.org"}),
        ("wire it to IBAN 0123456789", {"0123456789"}),
        ("10.0.0.1:8080 and 3.10", {"10.0.0.1:8080"}),
        ("the file report.pdf of 2024-05-15, version 3.10.2", set()),
    ],
)
def test_addresses_are_found_inside_of_longer_texts(text: str, found: set[str]) -> None:
    assert set(addresses(text)) == found


@pytest.mark.parametrize("text", ["plain words", "notes.txt", "13", "2024-05-15", "a", "", "ada@", "@ada", "a b@c.de"])
def test_ordinary_text_is_no_address(text: str) -> None:
    assert address(text) is None


@given(st.text(max_size=60), st.text(max_size=30))
def test_a_value_that_is_vouched_for_stands_in_the_words(words: str, value: str) -> None:
    """An independent look: no form of a name lets a text vouch for characters that it does not have."""
    if said_by_person(value, "x", [words]):
        letters = [one for one in value.casefold() if one.isalpha()]
        said = words.casefold()
        assert all(one in said or one in "wthps" for one in letters)


@pytest.mark.parametrize(
    "part", ["'", '"', "a.", "1.", "A ", "x@", "://", "May ", "12:", "(", "a=", "1,", "-", "www.", ": ", "\n", "“"]
)
def test_no_text_takes_long_to_read(part: str) -> None:
    """Twenty thousand characters: whatever grew with their square would take a minute."""
    started = time.process_time()
    wording(part * (20_000 // len(part)))
    assert time.process_time() - started < 1.5
