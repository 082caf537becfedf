"""What cassettes hold, and that nothing else can be replayed from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from vcr.serializers import yamlserializer

from tests.recorded.conversations import CONVERSATIONS, PLAIN, STREAMED
from tests.recorded.record import demo_branches, play_demo
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.ui.cassettes import (
    RECORDED_BASE_URL,
    RECORDED_MODEL,
    cassette,
    chat_model,
    is_unrecorded,
    replay,
)
from toolgate_langchain.ui.demo import CASSETTE, TURNS

FOLDER = Path(__file__).parents[2] / "cassettes"
PATHS = sorted(FOLDER.glob("*.yaml"))

SECRETS = re.compile(r"sk-\w{8}|bearer|authorization|api[_-]?key|x-stainless|user-agent|cookie|password", re.IGNORECASE)
MACHINE = re.compile(
    r"/(?:home|root|tmp|work|usr|var|Users)\b|timings|_per_second|\b(?!127\.0\.0\.1\b)\d+\.\d+\.\d+\.\d+\b"
)


def interactions(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yamlserializer.deserialize(path.read_text(encoding="utf-8"))["interactions"]
    return found


def test_there_is_one_cassette_for_the_demo_and_for_each_conversation() -> None:
    recorded = {path.stem for path in PATHS if not path.stem.startswith("hand-made")}
    assert recorded == {CASSETTE, *(conversation.name for conversation in CONVERSATIONS)}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_cassette_holds_no_secret_and_nothing_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert SECRETS.findall(text) == []
    assert MACHINE.findall(text) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_cassette_holds_only_the_headers_that_replaying_needs(path: Path) -> None:
    for one in interactions(path):
        assert set(one["request"]["headers"]) == {"accept", "content-type"}
        assert {name.lower() for name in one["response"]["headers"]} == {"content-type"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_cassette_was_recorded_from_the_one_address_and_model_with_fixed_settings(path: Path) -> None:
    for one in interactions(path):
        body = json.loads(one["request"]["body"])
        assert one["request"]["uri"] == f"{RECORDED_BASE_URL}/chat/completions"
        assert (body["model"], body["temperature"], body["seed"]) == (RECORDED_MODEL, 0, 1)
        assert one["response"]["status"]["code"] == 200


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_no_request_is_on_a_cassette_twice(path: Path) -> None:
    bodies = [one["request"]["body"] for one in interactions(path)]
    assert len(set(bodies)) == len(bodies)


def test_only_the_streamed_conversation_has_replies_in_pieces() -> None:
    streamed = {
        path.stem for path in PATHS for one in interactions(path) if json.loads(one["request"]["body"])["stream"]
    }
    assert streamed == {STREAMED.name}


@pytest.mark.parametrize("change", ["one word of the prompt", "the seed", "the address", "the path"])
def test_a_request_that_differs_in_one_thing_is_not_replayed(change: str) -> None:
    body = json.loads(interactions(cassette(PLAIN.name))[0]["request"]["body"])
    model = chat_model("http://127.0.0.1:18182/v1" if change == "the address" else RECORDED_BASE_URL)
    if change == "the path":
        model = chat_model(f"{RECORDED_BASE_URL}/other")
    text = "Read the report.txt." if change == "one word of the prompt" else body["messages"][0]["content"]
    seed = 2 if change == "the seed" else 1
    with replay(cassette(PLAIN.name)):
        known = chat_model().bind(tools=body["tools"]).invoke(body["messages"][0]["content"])
        assert known.tool_calls
        with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the client makes of it
            model.bind(tools=body["tools"], seed=seed).invoke(text)
    assert is_unrecorded(caught.value)


def test_an_error_of_another_kind_is_not_taken_for_a_missing_recording() -> None:
    assert not is_unrecorded(RuntimeError("no"))


def test_a_cassette_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'nowhere'"):
        cassette("nowhere")
    with pytest.raises(ConfigurationError, match="nowhere"), replay(FOLDER / "nowhere.yaml"):
        pass


@pytest.fixture(scope="module")
def model() -> BaseChatModel:
    """The demo's model; a client of its own for each branch reads the machine's certificates anew."""
    return chat_model()


@pytest.mark.parametrize("branch", range(17))
def test_the_demo_is_recorded_for_every_yes_and_no_and_for_a_terminal_where_nobody_is(
    branch: int, model: BaseChatModel
) -> None:
    approver = list(demo_branches())[branch]
    with replay(cassette(CASSETTE)):
        said = play_demo(approver, model)
    assert len(said) == len(TURNS)
    assert all(said)
