"""What a call would do, told by the tool's own preview: taken when the call is asked about, and again before it runs.

A preview never releases anything. One that fails is said to have failed, and one that is not the same any more
takes the approval away.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from toolgate_langchain.approvals.shown import MAX_SHOWN, show_text
from toolgate_langchain.canonical import copy_plain, digest
from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolgate_langchain.approvals.steps import Steps

__all__ = ["PREVIEW_SECONDS", "SavedPreview", "changed_since", "check_preview_seconds", "take_preview"]

PREVIEW_SECONDS: Final = 10.0
"""How long a preview may take, unless the gate says otherwise. Somebody waits for the question meanwhile, and for the
call afterwards."""

_LONGEST: Final = 3_600.0
"""Seconds that can be given to one: an hour, after which nobody waits for a question any more."""


def check_preview_seconds(seconds: float) -> float:
    """How long previews of a gate may take.

    Raises:
        ConfigurationError: If it is no number above 0, or more than an hour.
    """
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not known or not 0 < seconds <= _LONGEST:
        raise ConfigurationError(f"preview_seconds is {seconds!r}; it must be above 0 and at most {_LONGEST:,.0f}")
    return float(seconds)


@checked_dataclass(frozen=True, slots=True)
class SavedPreview:
    """A preview as it is saved with its call."""

    text: str = ""
    """What was told, cut where nobody would read on."""
    digest: str = ""
    """What tells the whole of it from another; empty where there was none."""
    fault: str = ""
    """Why there is none, in words; empty where there is one."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could mislead a person who looks at it."""
        return show_text(self.text, what="the preview").warnings


@dataclass(frozen=True, slots=True)
class _Taking:
    """One preview while it is taken."""

    function: Callable[[Mapping[str, Any]], str | Awaitable[str]]
    arguments: Mapping[str, Any]
    seconds: float

    def __call__(self) -> Any:
        """The text, or an awaitable of it where a loop runs."""
        arguments = copy_plain(dict(self.arguments))
        if inspect.iscoroutinefunction(self.function):
            return asyncio.wait_for(self.function(arguments), self.seconds)
        # In a thread of its own, which nobody waits for any longer than that.
        future: Future[Any] = Future()
        work = partial(copy_context().run, _work, self.function, arguments, future)
        threading.Thread(target=work, name="toolgate-preview", daemon=True).start()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return future.result(self.seconds)
        return self._awaited(future)

    async def _awaited(self, future: Future[Any]) -> Any:
        return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)


def _work(function: Callable[..., Any], arguments: Any, future: Future[Any]) -> None:
    async def finish(value: Any) -> Any:
        return await value

    try:
        value = function(arguments)
        outcome = asyncio.run(finish(value)) if inspect.isawaitable(value) else value
    except BaseException as error:
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        if future.set_running_or_notify_cancel():
            future.set_result(outcome)


def take_preview(
    function: Callable[[Mapping[str, Any]], str | Awaitable[str]], arguments: Mapping[str, Any], seconds: float
) -> Steps[SavedPreview]:
    """Ask a tool's preview about one call.

    Args:
        function: The profile's preview, synchronous or not.
        arguments: The effective arguments; it gets a copy.
        seconds: How long it may take.

    Returns:
        The preview; where it raised, took too long or gave no text, its `fault` says so.
    """
    try:
        text = yield _Taking(function, arguments, seconds)
    except (TimeoutError, FutureTimeoutError):
        return SavedPreview(fault=f"it took longer than {seconds:g} seconds")
    except Exception as error:
        return SavedPreview(fault=f"it raised {type(error).__name__}: {error}"[:300])
    if not isinstance(text, str):
        return SavedPreview(fault=f"it gave {type(text).__name__} and not a text")
    # One character more than is shown, so that a cut is seen as one.
    return SavedPreview(text[: MAX_SHOWN + 1], digest("toolgate:preview:1", text))


def changed_since(asked: SavedPreview, now: SavedPreview) -> str:
    """What is different between two previews, for the next proposal of the call; empty where nothing is.

    Args:
        asked: As a person was shown it.
        now: As it is before the call runs.
    """
    if (asked.digest, bool(asked.fault)) == (now.digest, bool(now.fault)):
        return ""
    return f"its preview changed after it was approved\nit was: {_told(asked)}\nit is: {_told(now)}"


def _told(preview: SavedPreview) -> str:
    return f"none, {preview.fault}" if preview.fault else preview.text
