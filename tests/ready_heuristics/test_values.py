"""Paths, hosts and values: each heuristic says yes to what it is about, and to nothing beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ready_heuristics.asking import says_yes
from tests.support import Recorder, call
from toolgate_langchain import RemoteServer, Surface, ToolCatalog
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext, heuristic_name
from toolgate_langchain.approvals.ready_heuristics import (
    ArgumentEquals,
    ArgumentInRange,
    GivenByPerson,
    HostIn,
    PathInside,
)
from toolgate_langchain.approvals.ready_heuristics.base import ArgumentHeuristic
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.history import History

NEVER_RIGHT: list[Any] = [
    None,
    True,
    1,
    1.5,
    math.nan,
    math.inf,
    "",
    " ",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    "\ud800",
    "\0",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "b.txt").write_text("b")
    (tmp_path / "root2").mkdir()
    (tmp_path / "outside").write_text("o")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in").symlink_to(root / "a")
    (root / "circle").symlink_to(root / "circle")
    return root


@pytest.mark.parametrize("path", ["a/b.txt", "a", "./a//b.txt", "in/b.txt", "a/../a/b.txt", "new.txt", "{}/a/b.txt",
                                  "12:30.log", ".hidden", "a b.txt", "a..b"])  # fmt: skip
def test_a_path_inside_a_root_is_approved(root: Path, path: str) -> None:
    assert says_yes(PathInside("act", "path", root), path=path.format(root))
    assert says_yes(PathInside("act", "path", root), path=["a", path.format(root)])


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../root2",
        "out",
        "circle",
        "circle/x",
        "a/../../outside",
        "in/../../outside",
        "/etc/passwd",
        "~/x",
        "~",
        ".",
        "a/b.txt\0",
        "a\n",
        "{}",
        "{}2/x",
        "{}/../root2/x",
        "a\\..\\..\\x",
        "a/b.txt.",
        "a/b.txt ",
        "a./b.txt",
        "a /b.txt",
        "a/.../b.txt",
        "a/b.txt::$DATA",
        "a:$INDEX_ALLOCATION/b.txt",
        "x/" * 3_000,
        ["a", ".."],
    ],
)
def test_links_are_followed_and_what_lies_elsewhere_is_not(root: Path, path: Any) -> None:
    given = path.format(root) if isinstance(path, str) else path
    assert not says_yes(PathInside("act", "path", root), path=given)


def test_a_host_in_the_list_is_approved_and_no_other() -> None:
    heuristic = HostIn("act", "url", ["api.example.com"])
    assert says_yes(heuristic, url="https://api.example.com/a?b=c")
    assert says_yes(heuristic, url=["https://api.example.com/a", "https://API.example.com:443"])
    for url in ("http://api.example.com/", "https://api.example.com.evil.example/", "https://x@api.example.com/",
                "https://api.example.com:8443/", "https://evil.example/#https://api.example.com/", "api.example.com",
                ["https://api.example.com/", "https://evil.example/"]):  # fmt: skip
        assert not says_yes(heuristic, url=url)


def test_of_a_long_list_nothing_is_approved(root: Path) -> None:
    heuristics = [(PathInside("act", "x", root), "a"), (HostIn("act", "x", ["a.example"]), "https://a.example/")]
    for heuristic, right in heuristics:
        assert says_yes(heuristic, x=[right] * 100)
        assert not says_yes(heuristic, x=[right] * 101)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


def same(one: Any, other: Any) -> bool:
    """Two JSON values compared by hand."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


@given(PLAIN, PLAIN)
def test_an_argument_equals_exactly_what_is_given(approved: Any, value: Any) -> None:
    heuristic = ArgumentEquals("act", "n", approved)
    assert says_yes(heuristic, n=value) is (value is not None and same(approved, value))
    assert says_yes(heuristic, n=approved) is (approved is not None)


@given(st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from([True, False, "3", math.nan, math.inf, 2**80, [1]]))
def test_a_number_lies_in_a_range_and_nothing_else_does(value: Any) -> None:
    inside = not isinstance(value, bool | str | list) and -1 <= value <= 3.5
    assert says_yes(ArgumentInRange("act", "n", -1, 3.5), n=value) is inside


@pytest.mark.parametrize(("least", "most"), [(2, 1), (math.nan, 1), (0, math.inf), (True, 2), ("0", 2)])
def test_a_range_is_one_of_numbers(least: Any, most: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no range of numbers"):
        ArgumentInRange("act", "n", least, most)


def every(root: Path) -> list[tuple[ArgumentHeuristic, Any]]:
    return [
        (PathInside("act", "x", root, others=["note"]), "a"),
        (HostIn("act", "x", ["a.example"], others=["note"]), "https://a.example/"),
        (ArgumentEquals("act", "x", 5, others=["note"]), 5),
        (ArgumentInRange("act", "x", 4, 6, others=["note"]), 5),
    ]


def test_another_tool_a_missing_argument_and_one_that_nobody_looked_at_are_left_to_a_person(root: Path) -> None:
    for heuristic, right in every(root):
        assert says_yes(heuristic, x=right)
        assert says_yes(heuristic, x=right, note="anything", more=None)
        assert not says_yes(heuristic, "act2", x=right)
        assert not says_yes(heuristic, y=right) and not says_yes(heuristic)
        assert not says_yes(heuristic, x=right, more=right)


@pytest.mark.parametrize("value", NEVER_RIGHT, ids=repr)
def test_a_value_of_another_kind_is_a_no_and_no_error(root: Path, value: Any) -> None:
    for heuristic, _ in every(root)[:3]:
        assert not says_yes(heuristic, x=value)


def test_what_is_said_of_a_local_tool_holds_for_no_servers_tool_of_that_name(root: Path) -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("there", ("run",)), [Recorder().tool("act")])
    entry = catalog.get("act")
    assert entry is not None and entry.origin == "server:there"
    context = HeuristicContext(entry, Surface("chat"), None, history=History(words=("Write to a@b.example",)))
    local: list[tuple[Heuristic, Any]] = [*every(root), (GivenByPerson("act", ["x"]), "a@b.example")]
    for heuristic, right in local:
        assert says_yes(heuristic, x=right, words=("Write to a@b.example",))
        assert heuristic(call("act", x=right), context) is False
    there: list[tuple[Heuristic, Any]] = [
        (ArgumentEquals("act", "x", 5, origin="server:there"), 5),
        (GivenByPerson("act", ["x"], origin="server:there"), "a@b.example"),
    ]
    assert all(heuristic(call("act", x=right), context) is True for heuristic, right in there)


def test_a_decision_names_the_heuristic_with_its_tool_and_its_argument(root: Path) -> None:
    assert [heuristic_name(one) for one, _ in every(root)[:2]] == ["PathInside(act.x)", "HostIn(act.x)"]
    assert heuristic_name(GivenByPerson("act", ["x"])) == "GivenByPerson(act)"


def test_names_and_lists_are_checked_when_a_heuristic_is_made(root: Path) -> None:
    with pytest.raises(ConfigurationError, match="others is the text 'note'"):
        ArgumentEquals("act", "x", 5, others="note")
    with pytest.raises(ConfigurationError, match="'' is not the name"):
        ArgumentEquals("act", "", 5)
    with pytest.raises(ConfigurationError, match="is not an existing folder"):
        PathInside("act", "x", root / "nothing")
