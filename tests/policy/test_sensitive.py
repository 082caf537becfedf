"""Sensitive field names, and what is masked under them."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    "name",
    [
        *("registry_key", "registryKeys", "primary_key", "token_file", "TOKEN_FILES", "keyPath", "secretsDir"),
        *("auth_url", "tokenEndpoint", "auth-server", "password_command", "pass cmd", "credentials.file"),
    ],
)
def test_a_name_that_says_where_a_secret_lies(name: str) -> None:
    """`registry_key` and `token_file` are not masked: a masked value is never a command, a path or a host."""
    assert not is_sensitive(name)
    value = {name: "/srv/keys/a", "note": {name: "rm -rf /srv"}}
    assert masked(value) == value


@pytest.mark.parametrize(
    "name",
    [
        *("token", "fileToken", "file_password", "path_key", "registry_key_secret", "registry_api_key"),
        *("keyFileToken", "dsn_url"),
    ],
)
def test_a_name_that_only_begins_with_a_place(name: str) -> None:
    """What a name says last counts: a token for a file is a token."""
    assert is_sensitive(name)
    assert masked({name: "a"}) == {name: MASK}


def test_what_stands_inside_of_such_a_place_is_looked_at() -> None:
    assert masked({"key_file": {"path": "/a", "password": "b"}}) == {"key_file": {"path": "/a", "password": MASK}}


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


def test_json_that_stands_in_a_text_is_looked_into_at_any_depth() -> None:
    inner = json.dumps({"password": "hidden", "user": "ann"})
    arguments = {"blob": inner, "rows": [json.dumps([{"note": inner}])], "text": "{password: hidden"}
    assert holds_sensitive(arguments)
    told = masked(arguments)
    assert "hidden" not in json.dumps([told["blob"], told["rows"]])
    assert json.loads(told["blob"]) == {"password": MASK, "user": "ann"}
    # What is no JSON stays as it was written: nobody can tell a secret in it.
    assert told["text"] == "{password: hidden"


@pytest.mark.parametrize("text", ['{"user": "ann",  "n": 1}', "[1, 2]", "{", "[" * 100_000, "", "  "])
def test_a_text_with_nothing_sensitive_in_it_stays_as_it_was_written(text: str) -> None:
    assert not holds_sensitive(text)
    assert masked(text) == text


def test_a_field_that_a_profile_declares_is_masked_in_such_a_text_too() -> None:
    assert json.loads(masked({"blob": '{"iban": "X1"}'}, {"iban"})["blob"]) == {"iban": MASK}
