"""For whom a run runs and what it was configured to use: what is refused, and what is kept with a paused run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from toolgate_langchain import Caller, RunConfiguration
from toolgate_langchain.policy.caller import Skill

FULL = RunConfiguration(
    groups=frozenset({"web", "mail", "code"}),
    skills=(Skill("acts", ("act",)), Skill("silent"), Skill("off", (), enabled=False)),
    tools=("other", "act"),
)


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_a_caller_without_an_id_is_no_caller(empty: str) -> None:
    with pytest.raises(ValidationError, match="a caller's id is empty; pass no caller instead"):
        Caller(empty)


def test_a_caller_is_no_administrator_unless_it_is_said() -> None:
    assert not Caller("ann").admin
    for almost in ("true", 1, None):
        with pytest.raises(ValidationError):
            Caller("ann", admin=almost)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "one",
    [RunConfiguration(), RunConfiguration(groups=frozenset(), tools=()), RunConfiguration(skills=(Skill("a"),)), FULL],
)
def test_a_configuration_comes_back_from_json_text_as_it_was(one: RunConfiguration) -> None:
    """`None` and an empty list are never confused on the way."""
    assert RunConfiguration.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_equal_configurations_are_kept_as_the_same_text() -> None:
    assert FULL.to_json()["groups"] == ["code", "mail", "web"]
    again = RunConfiguration(groups=frozenset({"code", "mail", "web"}), skills=FULL.skills, tools=FULL.tools)
    assert json.dumps(again.to_json()) == json.dumps(FULL.to_json())


@pytest.mark.parametrize(
    "wrong",
    [
        {"groups": "mail"},
        {"skills": [{"name": "a", "enabled": "no"}]},
        {"skills": [{"name": "a", "enabled": 0}]},
        {"skills": [{"tools": []}]},
        {"tools": [1]},
        {"more": True},
        [],
        None,
    ],
)
def test_whatever_else_was_kept_is_refused_and_not_guessed(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        RunConfiguration.from_json(wrong)


def test_a_tool_without_a_group_is_outside_every_list_of_groups() -> None:
    assert RunConfiguration().permits("act", frozenset())
    assert not RunConfiguration(groups=frozenset()).permits("act", frozenset({"mail"}))
    assert not RunConfiguration(groups=frozenset({"mail"})).permits("act", frozenset())
    assert RunConfiguration(groups=frozenset({"mail", "code"})).permits("act", frozenset({"mail", "web"}))
