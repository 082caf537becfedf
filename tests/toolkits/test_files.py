"""Resources, on langchain-community's file toolkit and a real folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from tests.support import Chat, call, chat, says
from tests.toolkits.conftest import ADMIN, ANN, BOB, Calls
from toolgate_langchain import Caller, ResourcePolicy, ToolGate
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.toolkits import FileResources

POLICY = ResourcePolicy(
    denied=["private", "docs/denied.txt"],
    admin_only=["pay"],
    rights={"ann": [".", "docs", "top.txt", "private", "pay"]},
    separator="/",
)
NOT_FOUND = "Error: no such file or directory"


@pytest.fixture
def resources(root: Path) -> FileResources:
    return FileResources(root, POLICY)


@pytest.fixture
def files(file_tools: list[BaseTool], resources: FileResources, calls: Callable[..., Calls]) -> Calls:
    return calls(resources.tools(file_tools))


@pytest.mark.parametrize(
    "written",
    [
        "docs/a.txt",
        "./docs/a.txt",
        "docs//a.txt",
        "docs/a.txt/",
        "docs/deep/../a.txt",
        "{root}/docs/a.txt",
        "docs/up/root/docs/a.txt",
    ],
)
def test_every_writing_of_a_permitted_path_reads_the_one_file(files: Calls, root: Path, written: str) -> None:
    assert files(ANN, "read_file", file_path=written.format(root=root)) == "this is docs/a.txt"


@pytest.mark.parametrize("caller", [ADMIN, ANN])
@pytest.mark.parametrize(
    "written",
    [
        "private/key.txt",
        "docs/../private/key.txt",
        "PRIVATE/key.txt",
        "docs/hidden",
        "docs/out",
        "docs/circle",
        "docs/up/outside.txt",
        "../outside.txt",
        "{root}/../outside.txt",
        "{root}/private/key.txt",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "~root/x",
        "docs/a.txt\0.png",
        "docs/a.txt\n",
        "docs\\a.txt",
        "docs/a.txt/..//a.txt/x",
        "docs/nothing.txt",
        "nothing/a.txt",
        "docs",
        ".",
        "",
        " ",
        "a/" * 3_000 + "b",
        "x" * 300,
    ],
)
def test_what_may_not_be_read_and_what_is_not_there_are_answered_alike(
    files: Calls, root: Path, caller: Caller, written: str
) -> None:
    assert files(caller, "read_file", file_path=written.format(root=root)) == NOT_FOUND


@pytest.mark.parametrize(
    ("caller", "folder", "listed"),
    [
        (ANN, ".", ["docs", "top.txt"]),
        (ADMIN, ".", ["docs", "pay", "top.txt"]),
        (ANN, "docs", ["a.txt", "deep", "inside"]),
        (ANN, "pay", None),
        (ADMIN, "pay", ["may.txt"]),
        (ADMIN, "private", None),
        (ADMIN, "nothing", None),
        (ADMIN, "docs/up", None),
        (BOB, ".", None),
        (None, ".", None),
    ],
    ids=str,
)
def test_what_is_listed_is_what_can_be_read(
    files: Calls, caller: Caller | None, folder: str, listed: list[str] | None
) -> None:
    said = files(caller, "list_directory", dir_path=folder)
    assert said == NOT_FOUND if listed is None else sorted(said.split("\n")) == listed


def test_a_search_finds_only_what_can_be_read(files: Calls) -> None:
    found = files(ADMIN, "file_search", pattern="*")
    assert set(found.split("\n")) == {"top.txt", "docs/a.txt", "docs/inside", "docs/deep/b.txt", "pay/may.txt"}
    assert files(ADMIN, "file_search", pattern="key*") == files(ADMIN, "file_search", pattern="nothing*")
    assert files(ADMIN, "file_search", pattern="*", dir_path="private") == NOT_FOUND


def test_a_file_is_written_where_its_folder_may_be_used_and_nothing_denies_its_name(files: Calls, root: Path) -> None:
    assert "written" in files(ANN, "write_file", file_path="docs/new.txt", text="new")
    assert (root / "docs/new.txt").read_text() == "new"
    before = sorted(root.parent.rglob("*"))
    for path in ("docs/denied.txt", "pay/new.txt", "private/new.txt", "nothing/new.txt", "docs/out", "docs/deep",
                 "../new.txt", "docs/up/new.txt", "docs/DENIED.txt", "docs/denied.txt.", "docs/denied.txt ",
                 "docs/denied.txt. .", "docs/denied.txt::$DATA", "docs\\new.txt", "docs./new.txt"):  # fmt: skip
        assert files(ANN, "write_file", file_path=path, text="x") == NOT_FOUND
    assert files(BOB, "write_file", file_path="docs/b.txt", text="x") == NOT_FOUND
    assert sorted(root.parent.rglob("*")) == before
    assert (root.parent / "outside.txt").read_text() == "this is outside"


@pytest.mark.parametrize("name", ["copy_file", "move_file"])
def test_both_ends_of_a_copy_are_checked_and_folders_are_neither(files: Calls, root: Path, name: str) -> None:
    for source, target in (
        ("private/key.txt", "docs/k.txt"),
        ("docs/a.txt", "pay/a.txt"),
        ("docs/a.txt", "docs/deep"),
        ("docs/deep", "docs/deeper"),
        ("docs/a.txt", "docs/out"),
    ):
        assert files(ANN, name, source_path=source, destination_path=target) == NOT_FOUND
    assert not (root / "docs/k.txt").exists() and (root / "docs/a.txt").exists()
    files(ANN, name, source_path="docs/a.txt", destination_path="docs/c.txt")
    assert (root / "docs/c.txt").read_text() == "this is docs/a.txt"


def test_only_a_permitted_file_is_deleted(files: Calls, root: Path) -> None:
    for path in ("private/key.txt", "pay/may.txt", "docs/deep", "docs/out", "nothing"):
        assert files(ANN, "file_delete", file_path=path) == NOT_FOUND
    assert "deleted" in files(ANN, "file_delete", file_path="docs/a.txt")
    assert not (root / "docs/a.txt").exists() and (root.parent / "outside.txt").exists()


def test_only_the_toolkits_own_tools_and_an_existing_root_are_taken(resources: FileResources, tmp_path: Path) -> None:
    @tool
    def read_file(file_path: str) -> str:
        """Read anything."""
        return file_path

    with pytest.raises(ConfigurationError, match="'read_file' is no tool of langchain-community's file"):
        resources.tools([read_file])
    for wrong in (tmp_path / "nothing", tmp_path / "outside.txt"):
        with pytest.raises(ConfigurationError, match="the root"):
            FileResources(wrong, POLICY)


@pytest.mark.parametrize(
    "name", ["docs/inside", "docs/up", "docs/out", "../outside.txt", "docs/../private", "/etc", "private/"]
)
def test_a_policy_restricts_what_a_path_leads_to_and_no_link(root: Path, name: str) -> None:
    for policy in (ResourcePolicy(denied=[name]), ResourcePolicy(admin_only=[name])):
        with pytest.raises(ConfigurationError, match="names nothing below the root by itself"):
            FileResources(root, policy)
    FileResources(root, ResourcePolicy(denied=["private", "not/there/yet"]))


@pytest.fixture
def talk(file_tools: list[BaseTool], resources: FileResources) -> Callable[..., Chat]:
    def make(name: str, **arguments: Any) -> Chat:
        script = [says(call(name, "c", **arguments)), says(text="done")]
        gate = ToolGate(argument_policies=[resources])
        return chat(script, resources.tools(file_tools), gate=gate, surface="chat", caller=ANN)

    return make


def test_a_person_sees_the_object_that_a_path_names_and_the_tool_gets_it(talk: Callable[..., Chat], root: Path) -> None:
    talking = talk("write_file", file_path="docs/deep/../inside", text="new")
    talking.say()
    assert talking.request.arguments["file_path"] == str(root / "top.txt")
    talking.answer()
    assert (root / "top.txt").read_text() == "new" and (root / "docs/inside").is_symlink()


def test_a_link_that_leads_elsewhere_when_the_call_runs_is_refused_as_changed(
    talk: Callable[..., Chat], root: Path
) -> None:
    talking = talk("write_file", file_path="docs/inside", text="new")
    talking.say()
    (root / "docs/inside").unlink()
    (root / "docs/inside").symlink_to(root / "docs/a.txt")
    talking.answer()
    assert "no longer the same" in talking.result("c")
    assert (root / "top.txt").read_text() == "this is top.txt" and (
        root / "docs/a.txt"
    ).read_text() == "this is docs/a.txt"


def test_a_folder_that_became_a_link_when_the_call_runs_is_refused(talk: Callable[..., Chat], root: Path) -> None:
    talking = talk("write_file", file_path="docs/deep/new.txt", text="new")
    talking.say()
    (root / "docs/deep").rename(root / "docs/elsewhere")
    (root / "docs/deep").symlink_to(root / "docs")
    talking.answer()
    assert "was not executed" in talking.result("c")
    assert not (root / "docs/new.txt").exists()


@pytest.mark.parametrize("path", ["private/key.txt", "nothing/x.txt", "../outside.txt", "docs/a.txt\0"])
def test_nobody_is_asked_about_a_file_that_may_not_be_used_or_a_folder_that_is_not_there(
    talk: Callable[..., Chat], path: str
) -> None:
    talking = talk("write_file", file_path=path, text="x")
    talking.say()
    assert talking.requests == []
    assert talking.result("c") == "The call of 'write_file' was not executed. It is not permitted here."
