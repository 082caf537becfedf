"""What a gate checks of what it is given, and how it says so: the argument, what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.approval_rule import ApprovalRule

__all__ = [
    "check_call",
    "check_callables",
    "check_caps",
    "check_expiry",
    "check_given",
    "check_kinds",
    "check_lists",
    "check_names",
    "check_record",
]


def check_kinds(*, catalog: Any, approval_rule: Any, ledger: Any) -> None:
    """Refuse what is of another kind: a list of tools is no catalog, and a class is no ledger.

    Raises:
        ConfigurationError: Naming the argument.
    """
    for name, given, kind in (("catalog", catalog, ToolCatalog), ("approval_rule", approval_rule, ApprovalRule)):
        if given is not None and not isinstance(given, kind):
            raise ConfigurationError(f"{name} is {given!r}, which is not a {kind.__name__}")
    if isinstance(ledger, type) or (ledger is not None and not callable(getattr(ledger, "start", None))):
        raise ConfigurationError(f"ledger is {ledger!r}, which is not a ledger such as InMemoryLedger()")


def check_callables(given: Mapping[str, Any]) -> None:
    """Refuse what cannot be called, among functions that may be left out.

    Raises:
        ConfigurationError: Naming the argument.
    """
    for name, function in given.items():
        if function is not None and not callable(function):
            raise ConfigurationError(f"{name} is {function!r}, which cannot be called")


def check_lists(given: Mapping[str, Any]) -> None:
    """Refuse what is no list, as one surface or one function where several belong.

    Raises:
        ConfigurationError: Naming the argument.
    """
    for name, listed in given.items():
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise ConfigurationError(f"{name} is {listed!r}; it must be a list")


def check_names(names: Any) -> None:
    """Refuse what is no list of names; one name alone would be read letter by letter.

    Raises:
        ConfigurationError: Saying what was given.
    """
    check_lists({"names": names})
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ConfigurationError(f"names holds {wrong[0]!r}, which is not a tool's name")


def check_given(given: Mapping[str, tuple[Any, type]]) -> None:
    """Refuse what is of another kind, among values that may be left out.

    Args:
        given: By name, what was given and what it must be.

    Raises:
        ConfigurationError: Naming the argument.
    """
    for name, (value, kind) in given.items():
        if value is not None and not isinstance(value, kind):
            raise ConfigurationError(f"{name} is {value!r}, which is not a {kind.__name__}")


def check_call(call: Any) -> None:
    """Refuse what is no tool call.

    Raises:
        ConfigurationError: Saying what was given.
    """
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str) or "args" not in call:
        raise ConfigurationError(f'call is {call!r}; it must be a tool call: {{"name": ..., "args": {{...}}}}')


def check_record(record: Any, record_results: Any) -> None:
    """Refuse a level of the record that there is not, and anything but a yes or no for whether it keeps results.

    Raises:
        ConfigurationError: Naming the argument.
    """
    if record not in ("decisions", "all"):
        raise ConfigurationError(f"record is {record!r}; it must be 'decisions' or 'all'")
    if type(record_results) is not bool:
        raise ConfigurationError(f"record_results is {record_results!r}; it must be True or False")


def check_caps(given: Mapping[str, Any]) -> None:
    """Refuse caps that are no whole number of at least 1.

    Raises:
        ConfigurationError: Naming the argument.
    """
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ConfigurationError(f"{name} is {value!r}; it must be a whole number of at least 1")


def check_expiry(given: Any, answers: str) -> timedelta | None:
    """Refuse what is no time to answer in.

    Args:
        given: For how long requests can be answered.
        answers: Whether answers name their request.

    Raises:
        ConfigurationError: Naming the argument.
    """
    if given is None:
        return None
    if not isinstance(given, timedelta) or given <= timedelta(0):
        raise ConfigurationError(f"request_expiry is {given!r}; it must be a timedelta longer than nothing, or None")
    if answers != "strict":
        # A late answer that names no request would be taken for an answer to what is asked next.
        raise ConfigurationError('request_expiry needs answers="strict": a late answer must name its request')
    return given
