"""Record every cassette anew from a live model.

    python -m tests.recorded.record [--base-url URL] [NAME ...]

Hand-made cassettes are not touched. See docs/recording.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from rich.console import Console

from tests.recorded.conversations import CONVERSATIONS, Telling
from toolgate_langchain import ApprovalAnswer, ApprovalRequest, Approver, ConsoleApprover, ToolGate
from toolgate_langchain.ui.cassettes import RECORDED_BASE_URL, chat_model, record
from toolgate_langchain.ui.demo import CASSETTE, TURNS, demo_agent, prepare_folder, say

CASSETTES = Path(__file__).parents[2] / "cassettes"
QUESTIONS = 4
"""Questions that the demo asks where nothing is remembered."""


def demo_branches() -> Iterator[Approver]:
    """People who answer the demo in every way that is recorded.

    To the model an answer that is remembered looks like any other yes, so that yes and no at each
    question are all there is. Beside them goes the terminal where nobody is.
    """
    for kinds in itertools.product(("approve", "reject"), repeat=QUESTIONS):
        yield _answering(kinds)
    yield ConsoleApprover(Console(file=StringIO()))


def _answering(kinds: Iterable[str]) -> Approver:
    left = iter(kinds)

    def answer(request: ApprovalRequest, /) -> ApprovalAnswer:
        return ApprovalAnswer(request_id=request.request_id, type=next(left))  # type: ignore[arg-type]

    return answer


def play_demo(approver: Approver, model: BaseChatModel) -> list[str]:
    """Drive the demo's conversation to its end, and return what the agent says to each turn of the user."""
    with tempfile.TemporaryDirectory() as name:
        prepare_folder(Path(name))
        agent = demo_agent(model, Path(name), ToolGate())
        return [say(agent, text, approver) for text in TURNS]


def record_all(base_url: str, names: Sequence[str] = ()) -> None:
    """Record the cassettes of these names, or all.

    Args:
        base_url: Where the model is reached.
        names: The cassettes' names.
    """
    for conversation in CONVERSATIONS:
        if not names or conversation.name in names:
            with record(CASSETTES / f"{conversation.name}.yaml", base_url), tempfile.TemporaryDirectory() as folder:
                Telling(conversation, Path(folder), base_url).tell()
    if not names or CASSETTE in names:
        with record(CASSETTES / f"{CASSETTE}.yaml", base_url):
            for _number, approver in enumerate(demo_branches(), start=1):
                play_demo(approver, chat_model(base_url))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="cassettes to record; left out, all")
    parser.add_argument("--base-url", default=RECORDED_BASE_URL, help="an OpenAI-compatible address")
    options = parser.parse_args(arguments)
    known = {CASSETTE, *(conversation.name for conversation in CONVERSATIONS)}
    if unknown := sorted(set(options.names) - known):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    record_all(options.base_url, options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
