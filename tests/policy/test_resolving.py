"""What arguments name is resolved once: the tool gets what was checked, or the call does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, field_validator

from toolgate_langchain import ToolProfile
from toolgate_langchain.catalog.arguments import EffectiveArguments
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.errors import InvalidArgumentsError
from toolgate_langchain.policy.resolving import names_elsewhere, resolved


class Where(BaseModel):
    """One name, which validation writes in small letters."""

    path: str

    @field_validator("path")
    @classmethod
    def _small(cls, path: str) -> str:
        if not path:
            raise ValueError("there must be a name")
        return path.lower()


class Links:
    """A policy that resolves the argument `path` by a function."""

    def __init__(self, target: Callable[[str], Any]) -> None:
        self._target = target

    def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"path": self._target(arguments["path"])} if "path" in arguments else {}


def _not_used(**_: Any) -> str:
    raise AssertionError("nothing runs here")


VALIDATED = CatalogEntry(
    "open",
    ToolProfile(),
    tool=StructuredTool(name="open", description="Open it.", func=_not_used, args_schema=Where),
)
UNVALIDATED = CatalogEntry("open", ToolProfile())
"""A tool that the model's provider runs, whose arguments nobody here can validate."""

EITHER = pytest.mark.parametrize("entry", [VALIDATED, UNVALIDATED], ids=["validated", "unvalidated"])
REAL = Links(lambda path: path.replace("link", "real"))


def resolve(entry: CatalogEntry, *policies: Links, **arguments: Any) -> EffectiveArguments:
    return resolved(entry, EffectiveArguments(arguments, exact=True), policies)


def fails(_: str) -> str:
    raise OSError("the disk is gone")


def different_each_time() -> Links:
    found = iter(f"place-{count}" for count in range(100))
    return Links(lambda _: next(found))


class TestResolved:
    @EITHER
    def test_what_was_checked_takes_the_place_of_what_was_written(self, entry: CatalogEntry) -> None:
        assert resolve(entry, REAL, path="link/a").values == {"path": "real/a"}

    def test_it_is_validated_again_as_the_tool_will(self) -> None:
        loud = Links(lambda path: "REAL" if path == "a" else path)
        assert resolve(VALIDATED, loud, path="a").values == {"path": "real"}
        with pytest.raises(InvalidArgumentsError):
            resolve(VALIDATED, Links(lambda _: ""), path="a")

    @EITHER
    def test_each_policy_is_told_what_the_one_before_it_resolved(self, entry: CatalogEntry) -> None:
        further = Links(lambda path: path.replace("real", "disk/real") if "disk" not in path else path)
        assert resolve(entry, REAL, further, path="link").values == {"path": "disk/real"}

    @EITHER
    def test_where_nothing_is_named_otherwise_the_arguments_stay_the_very_same(self, entry: CatalogEntry) -> None:
        arguments = EffectiveArguments({"path": "a"}, exact=True)
        assert resolved(entry, arguments, (REAL,)) is arguments

    @EITHER
    def test_an_argument_that_was_left_out_and_is_named_by_the_policy_is_seen(self, entry: CatalogEntry) -> None:
        class Filled(Links):
            def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
                return {"path": "real"}

        assert resolve(entry, Filled(str)).values == {"path": "real"}

    @EITHER
    def test_a_name_that_means_something_else_at_the_second_look_does_not_fit(self, entry: CatalogEntry) -> None:
        with pytest.raises(InvalidArgumentsError, match="changes each time"):
            resolve(entry, different_each_time(), path="a")

    @EITHER
    def test_policies_that_undo_each_other_leave_what_was_written(self, entry: CatalogEntry) -> None:
        there, back = Links(lambda path: f"{path}/a"), Links(lambda path: path.removesuffix("/a"))
        assert resolve(entry, there, back, path="b").values == {"path": "b"}

    def test_one_argument_of_several_that_is_named_otherwise_is_enough(self) -> None:
        class Two(Links):
            def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
                return {"path": "a", "copy": "real"}

        assert resolve(UNVALIDATED, Two(str), path="a", copy="link").values == {"path": "a", "copy": "real"}

    @EITHER
    def test_a_policy_that_raises_leaves_no_arguments(self, entry: CatalogEntry) -> None:
        with pytest.raises(InvalidArgumentsError, match="could not be looked up"):
            resolve(entry, Links(fails), path="a")

    def test_a_validation_that_undoes_what_was_resolved_does_not_fit(self) -> None:
        """Nobody could say what the tool would get."""
        with pytest.raises(InvalidArgumentsError, match="changes each time"):
            resolve(VALIDATED, Links(lambda _: "REAL"), path="a")


class TestNamesElsewhere:
    @EITHER
    def test_a_name_that_still_means_the_same_does_not(self, entry: CatalogEntry) -> None:
        assert not names_elsewhere(entry, {"path": "link"}, {"path": "real"}, (REAL,))

    def test_the_models_words_are_validated_before_they_are_looked_up(self) -> None:
        assert not names_elsewhere(VALIDATED, {"path": "LINK"}, {"path": "real"}, (REAL,))
        assert names_elsewhere(UNVALIDATED, {"path": "LINK"}, {"path": "real"}, (REAL,))

    @EITHER
    def test_a_link_that_was_moved_does(self, entry: CatalogEntry) -> None:
        assert names_elsewhere(entry, {"path": "link"}, {"path": "elsewhere"}, (REAL,))

    @EITHER
    def test_one_argument_of_several_that_was_moved_is_enough(self, entry: CatalogEntry) -> None:
        class Two(Links):
            def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
                return {"path": "real", "copy": "moved"}

        assert names_elsewhere(entry, {"path": "link"}, {"path": "real", "copy": "real"}, (Two(str),))

    @EITHER
    def test_what_cannot_be_looked_up_any_more_is_not_what_was_judged(self, entry: CatalogEntry) -> None:
        assert names_elsewhere(entry, {"path": "link"}, {"path": "link"}, (Links(fails),))

    def test_nor_is_what_does_not_fit_any_more(self) -> None:
        assert names_elsewhere(VALIDATED, {"path": ""}, {"path": ""}, (REAL,))
