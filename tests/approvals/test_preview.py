"""How a tool's own preview is taken, and what is told of one that failed or changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolgate_langchain.approvals.preview import SavedPreview, changed_since, take_preview
from toolgate_langchain.approvals.shown import MAX_SHOWN
from toolgate_langchain.approvals.steps import arun_steps, run_steps

Function = Callable[[Mapping[str, Any]], str | Awaitable[str]]


def taken(function: Function, seconds: float = 5.0) -> SavedPreview:
    return run_steps(take_preview(function, {"table": "mails"}, seconds))


def taken_in_a_loop(function: Function, seconds: float = 5.0) -> SavedPreview:
    return asyncio.run(arun_steps(take_preview(function, {"table": "mails"}, seconds)))


async def in_words(table: str) -> str:
    return f"deletes all of {table}"


def test_a_function_may_give_the_text_or_what_must_be_awaited_for_it() -> None:
    for take in (taken, taken_in_a_loop):
        assert take(lambda arguments: in_words(arguments["table"])).text == "deletes all of mails"
        assert take(lambda arguments: f"deletes {arguments['table']}").text == "deletes mails"


def test_an_asynchronous_preview_runs_in_the_loop_of_the_run() -> None:
    """What it uses, a pool of connections for one, may belong to that loop."""
    seen: list[asyncio.AbstractEventLoop] = []

    async def looks(_: Mapping[str, Any]) -> str:
        seen.append(asyncio.get_running_loop())
        return "nothing"

    async def main() -> asyncio.AbstractEventLoop:
        await arun_steps(take_preview(looks, {}, 5.0))
        return asyncio.get_running_loop()

    assert [asyncio.run(main())] == seen


def test_a_synchronous_one_runs_in_a_thread_that_keeps_no_process_from_ending() -> None:
    threads: list[threading.Thread] = []

    def looks(_: Mapping[str, Any]) -> str:
        threads.append(threading.current_thread())
        return "nothing"

    taken(looks)
    assert [(thread.daemon, thread is threading.main_thread()) for thread in threads] == [(True, False)]


def test_one_that_ends_after_nobody_waits_for_it_any_longer_changes_nothing() -> None:
    """Neither its text nor its error is heard, and its thread ends without a fault of its own."""
    go_on, threads = threading.Event(), list[threading.Thread]()

    def late(_: Mapping[str, Any]) -> str:
        threads.append(threading.current_thread())
        go_on.wait(10)
        return "too late"

    def fails_late(arguments: Mapping[str, Any]) -> str:
        raise LookupError(late(arguments))

    told = [taken_in_a_loop(function, 0.02) for function in (late, fails_late)]
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert told == [SavedPreview(fault="it took longer than 0.02 seconds")] * 2


def test_of_a_long_preview_one_character_more_than_is_shown_is_kept_so_that_the_cut_is_seen() -> None:
    assert len(taken(lambda _: "x" * (2 * MAX_SHOWN)).text) == MAX_SHOWN + 1


def test_what_differs_behind_the_cut_is_another_preview() -> None:
    one, other = taken(lambda _: "x" * (2 * MAX_SHOWN) + "a"), taken(lambda _: "x" * (2 * MAX_SHOWN) + "b")
    assert one.text == other.text and changed_since(one, other)


def test_of_a_long_error_no_more_than_300_characters_are_kept() -> None:
    def fails(_: Mapping[str, Any]) -> str:
        raise LookupError("x" * 1_000)

    preview = taken(fails)
    assert preview.fault.startswith("it raised LookupError: xxx") and len(preview.fault) == 300
    assert preview.warnings == ()


def test_a_preview_that_fails_now_or_failed_then_is_not_the_same_any_more() -> None:
    told, failed = SavedPreview("3 rows", "d"), SavedPreview(fault="it raised LookupError: gone")
    before = "its preview changed after it was approved"
    assert changed_since(told, failed) == f"{before}\nit was: 3 rows\nit is: none, it raised LookupError: gone"
    assert changed_since(failed, told) == f"{before}\nit was: none, it raised LookupError: gone\nit is: 3 rows"
    assert changed_since(told, told) == changed_since(failed, SavedPreview(fault="another")) == ""
