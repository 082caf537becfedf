"""Without the libraries that read SQL and commands, what needs them says so when it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from toolgate_langchain import ResourcePolicy
from toolgate_langchain.approvals.ready_heuristics import ReadOnlySql, ShellCommands
from toolgate_langchain.errors import MissingExtraError
from toolgate_langchain.hosts.toolkits import SqlResources
from toolgate_langchain.policy import shell
from toolgate_langchain.policy.shell_denies import DeniedCommands


@pytest.fixture(autouse=True)
def not_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("tree_sitter_bash", "sqlglot.dialects.dialect"):
        monkeypatch.setitem(sys.modules, name, None)
    shell._language.cache_clear()
    yield
    shell._language.cache_clear()


@pytest.mark.parametrize(
    ("make", "extra"),
    [
        (lambda: ShellCommands("act", "command", ["ls"]), "shell"),
        (lambda: DeniedCommands("act", "command", ["rm"]), "shell"),
        (lambda: ReadOnlySql("act", "query", "sqlite"), "sql-policy"),
        (lambda: SqlResources(ResourcePolicy()), "sql-policy"),
    ],
)
def test_the_error_names_the_extra_that_brings_it(make: Callable[[], object], extra: str) -> None:
    with pytest.raises(MissingExtraError, match=rf"pip install 'toolgate-langchain\[{extra}\]'"):
        make()
