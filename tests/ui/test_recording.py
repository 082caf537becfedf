"""What is kept of a conversation when it is recorded, from a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from langchain_core.messages import BaseMessage

from toolgate_langchain.ui.cassettes import RECORDED_BASE_URL, chat_model, record, replay

PIECES = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}], "id": "1"},
    {"choices": [{"index": 0, "delta": {"content": "lo."}, "finish_reason": "stop"}], "id": "1", "timings": {"ms": 5}},
]
WHOLE = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Héllo."}, "finish_reason": "stop"}],
    "timings": {"predicted_per_second": 27.7},
}


class Server(BaseHTTPRequestHandler):
    """Speaks as a chat model does, with what a recording must not keep."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        streamed = [f"data: {json.dumps(piece)}\n\n" for piece in PIECES]
        body = "".join([*streamed, "data: [DONE]\n\n"]) if asked.get("stream") else json.dumps(WHOLE)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("x-machine", "my-machine")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """A running server."""
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def text_of(pieces: list[BaseMessage]) -> str:
    return "".join(str(piece.text) for piece in pieces)


def test_a_recording_keeps_no_key_no_machine_no_address_and_is_replayed_in_its_place(
    address: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk.yaml"
    with record(path, address):
        live = chat_model(address, api_key="sk-very-secret")
        said = live.invoke("Hello?").text
        pieces = list(live.stream("Hello?"))
    kept = path.read_text(encoding="utf-8")
    for left_out in ("sk-very-secret", "my-machine", "timings", "user-agent", "User-Agent", address):
        assert left_out not in kept
    assert kept.count(f"{RECORDED_BASE_URL}/chat/completions") == 2
    with replay(path):
        assert chat_model().invoke("Hello?").text == said == "Héllo."
        again = list(chat_model().stream("Hello?"))
    assert text_of([*again]) == text_of([*pieces]) == "Hello."
    assert len(again) == len(pieces)


def test_the_same_request_is_recorded_once(address: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.yaml"
    with record(path, address):
        for _ in range(3):
            chat_model(address).invoke("Hello?")
    assert path.read_text(encoding="utf-8").count("uri:") == 1


def test_a_recording_that_fails_leaves_the_old_one_as_it_was(address: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.yaml"
    path.write_text("the old one", encoding="utf-8")

    def half() -> None:
        with record(path, address):
            chat_model(address).invoke("Hello?")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        half()
    assert path.read_text(encoding="utf-8") == "the old one"
