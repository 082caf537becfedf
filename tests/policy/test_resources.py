"""Resources, the table's lines: who may use a named table, file or collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate_langchain import Caller, ResourcePolicy
from toolgate_langchain.errors import ConfigurationError

ADMIN, ANN, BOB = Caller("root", admin=True), Caller("ann"), Caller("bob")
TABLES = ["orders", "users", "salaries", "secrets"]
POLICY = ResourcePolicy(
    rights={"ann": ["orders", "users", "secrets", "salaries"], "*": ["orders"]},
    denied=["secrets"],
    admin_only=["salaries"],
    known=TABLES,
)


@pytest.mark.parametrize(
    ("caller", "name", "may"),
    [
        (None, "orders", False),
        (ADMIN, "", False),
        (ADMIN, " ", False),
        (ANN, "", False),
        (ADMIN, "secrets", False),
        (ANN, "secrets", False),
        (ADMIN, "nothing", False),
        (ANN, "nothing", False),
        (ADMIN, "salaries", True),
        (ADMIN, "users", True),
        (ANN, "salaries", False),
        (ANN, "users", True),
        (BOB, "users", False),
        (BOB, "orders", True),
    ],
)
def test_the_first_line_that_applies_decides(caller: Caller | None, name: str, may: bool) -> None:
    assert POLICY.may(caller, name) is may
    assert (POLICY.why_not(caller, name) is None) is may


def test_a_listing_shows_exactly_what_can_be_used_in_its_order() -> None:
    for caller in (None, ADMIN, ANN, BOB):
        assert POLICY.visible(caller, TABLES) == [name for name in TABLES if POLICY.may(caller, name)]
    assert POLICY.visible(ADMIN, [*TABLES, "nothing"]) == ["orders", "users", "salaries"]


@pytest.mark.parametrize("name", ["SECRETS", "Secrets", "\uff53ecrets", "\u017fecrets"])
def test_no_way_of_writing_a_denied_name_opens_it_where_case_is_ignored(name: str) -> None:
    assert not ResourcePolicy(denied=["secrets"]).may(ADMIN, name, known=True)
    assert ResourcePolicy(denied=["secrets"]).may(ADMIN, "secretary", known=True)


def test_what_holds_for_a_folder_holds_for_everything_in_it() -> None:
    files = ResourcePolicy(denied=["private"], admin_only=["pay"], rights={"ann": ["docs", "pay"]}, separator="/")
    assert not files.may(ADMIN, "private/a/b.txt", known=True)
    assert files.may(ADMIN, "privateer/a.txt", known=True)
    assert files.may(ANN, "docs/a/b.txt", known=True)
    assert not files.may(ANN, "docsy/a.txt", known=True)
    assert files.may(ADMIN, "pay/may.txt", known=True) and not files.may(ANN, "pay/may.txt", known=True)


def test_unless_somebody_says_that_there_is_one_a_resource_is_unknown() -> None:
    policy = ResourcePolicy()
    assert not policy.may(ANN, "a") and not policy.may(ADMIN, "a", known=False)
    assert not policy.may(ADMIN, "a", known=1)  # type: ignore[arg-type]
    assert policy.may(ANN, "a", known=True)
    assert not ResourcePolicy(known=["b"]).may(ADMIN, "a", known=True)


def raises(*_: Any) -> bool:
    raise RuntimeError("no answer")


@pytest.mark.parametrize("answer", [lambda *_: 1, lambda *_: "true", lambda *_: None, raises])
def test_only_exactly_true_is_a_right_and_only_exactly_true_makes_a_name_known(answer: Callable[..., Any]) -> None:
    assert not ResourcePolicy(rights=answer).may(ANN, "a", known=True)
    assert not ResourcePolicy(known=answer).may(ADMIN, "a")
    assert ResourcePolicy(rights=lambda caller, name: caller is ANN and name == "a", known=lambda _: True).may(ANN, "a")


@pytest.mark.parametrize("names", ["secrets", [""], [" "], [5], [None]])
def test_names_are_a_list_of_names(names: Any) -> None:
    makers: list[Callable[[], ResourcePolicy]] = [
        lambda: ResourcePolicy(denied=names),
        lambda: ResourcePolicy(admin_only=names),
        lambda: ResourcePolicy(known=names),
        lambda: ResourcePolicy(rights={"ann": names}),
    ]
    for make in makers:
        with pytest.raises(ConfigurationError, match="name"):
            make()


NAMES = st.sampled_from(["", " ", "a", "b", "c", "d"])
SOME = st.sets(st.sampled_from(["a", "b", "c", "d"]))
CALLERS = st.sampled_from([None, ADMIN, ANN, BOB])


@given(CALLERS, NAMES, SOME, SOME, SOME, SOME)
def test_the_order_is_the_one_of_the_table(
    caller: Caller | None, name: str, denied: set[str], admin_only: set[str], known: set[str], of_ann: set[str]
) -> None:
    policy = ResourcePolicy(rights={"ann": of_ann}, denied=denied, admin_only=admin_only, known=known)
    table = [
        (caller is None or not name.strip(), False),
        (name in denied, False),
        (name not in known, False),
        (caller is ADMIN, True),
        (name in admin_only, False),
        (True, caller is ANN and name in of_ann),
    ]
    assert policy.may(caller, name) is next(answer for applies, answer in table if applies)
