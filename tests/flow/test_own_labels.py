"""A label that the operator's own function gives counts only where it is one: nothing else is read as a yes."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain import DataClass, FlowPolicy
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.history import UNLABELLED, ResultLabel

NO_LABELS: list[tuple[str, Any]] = [
    ("trusted", "false"),
    ("trusted", "true"),
    ("trusted", 1),
    ("trusted", None),
    ("trusted_fields", "owner.id"),
    ("trusted_fields", ["id"]),
    ("trusted_fields", {1}),
    ("trusted_fields", DataClass.SECRET),
    ("data_class", "public"),
    ("data_class", 0),
]


@pytest.mark.parametrize(("field", "value"), NO_LABELS)
def test_a_label_of_another_type_is_an_error_that_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field} is "):
        ResultLabel(**{field: value})


@pytest.mark.parametrize(("field", "value"), NO_LABELS)
def test_a_function_that_gives_one_leaves_the_result_without_a_label(field: str, value: Any) -> None:
    policy = FlowPolicy(label=lambda *_: ResultLabel(**{field: value}))
    declared = ResultLabel(trusted=True, data_class=DataClass.PUBLIC)
    assert policy.label_result("read", "text", None, declared) == UNLABELLED


def test_a_label_counts_as_it_is() -> None:
    given = ResultLabel(trusted_fields=frozenset({"owner.id"}), data_class=DataClass.BUSINESS)
    policy = FlowPolicy(label=lambda *_: given)
    assert policy.label_result("read", "text", None, UNLABELLED) is given
