"""Sensitive field names, and what is masked under them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate_langchain.policy.sensitive import MASK, holds_sensitive, is_sensitive, masked


@pytest.mark.parametrize(
    "name", ["api_key", "identifier_hash", "token2", "accessKey", "password2", "clientSecret", "dsn"]
)
def test_sensitive(name: str) -> None:
    """`api_key`, `identifier_hash`, `token2`, `accessKey`, `password2`, `clientSecret`, `dsn` are sensitive."""
    assert is_sensitive(name)


@pytest.mark.parametrize("name", ["author", "keywords", "monkey", "secretary", "tokenizer"])
def test_not_sensitive(name: str) -> None:
    """`author`, `keywords`, `monkey`, `secretary`, `tokenizer` are not."""
    assert not is_sensitive(name)


@pytest.mark.parametrize(
    "name",
    [
        *("APIKey", "X-Api-Key", "PASSWORD", "Authorization", "dbpassword", "access_tokens", "oauth2Token", "passWord"),
        *("connectionString", "ssh keys", "client.secret", "\uff50assword", "apikey", "AWS_SECRET_ACCESS_KEY", "PIN"),
    ],
)
def test_words_however_they_are_written(name: str) -> None:
    """A name is read as words, whatever parts them and however they are written."""
    assert is_sensitive(name)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "", "_", "2", "string", "connection", "pinned", "hashtag", "authority", "subject", "spinner"),
        *("compass", "passage", "tokenize", "keyboard", "path", "to", "url", "\u5bc6\u7801"),
    ],
)
def test_words_that_only_contain_one(name: str) -> None:
    """A word that only contains a sensitive one, and a number of tokens, are not."""
    assert not is_sensitive(name)


def test_masked_at_any_depth() -> None:
    """Under a sensitive name everything is masked at any depth, whatever its type; the rest stays as it is."""
    value = {
        "to": "ann",
        "auth": {"user": "ann"},
        "items": [{"token": 17, "author": "bob"}, "token"],
        "password": None,
    }
    assert masked(value) == {
        "to": "ann",
        "auth": MASK,
        "items": [{"token": MASK, "author": "bob"}, "token"],
        "password": None,
    }
    assert value["auth"] == {"user": "ann"}, "what was given is not changed"


def test_declared_names() -> None:
    """A name that is declared sensitive is masked whatever it sounds like, at any depth."""
    value = {"diagnosis": "flu", "visits": [{"diagnosis": "cold", "day": 3}]}
    assert not holds_sensitive(value)
    assert holds_sensitive(value, {"diagnosis"})
    assert masked(value, {"diagnosis"}) == {"diagnosis": MASK, "visits": [{"diagnosis": MASK, "day": 3}]}


_NAMES = st.sampled_from(["to", "author", "token", "apiKey", "visits"]) | st.text(max_size=6)
_PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(_PLAIN)
def test_masking_agrees_with_holding(value: Any) -> None:
    """Something is masked exactly where something sensitive is held, and once is enough."""
    once = masked(value)
    # A mask that stands there already stays what it was.
    assert (once != value) <= holds_sensitive(value)
    assert masked(once) == once
    if not holds_sensitive(value):
        assert once == value
