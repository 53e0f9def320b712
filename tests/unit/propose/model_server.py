"""A server on this machine that speaks the OpenAI chat API, streaming or not, and answers what a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field, frozen


@frozen
class Says:
    """One response. ``trickle_s``: seconds between single characters of a stream; ``stall_s``: before anything is sent."""

    text: str = ""
    finish: str | None = "stop"
    status: int = 200
    error: str = ""
    headers: dict[str, str] = field(factory=dict[str, str])
    stall_s: float = 0.0
    trickle_s: float = 0.0
    raw: bytes | None = None  # instead of JSON
    usage: bool = True
    drop: bool = False  # the connection, in the middle of the body


@define
class ModelServer:
    """``answer`` makes the response from the question; ``asked`` are the questions, ``headers`` theirs."""

    answer: Callable[[dict[str, Any]], Says]
    asked: list[dict[str, Any]] = field(factory=list)
    headers: list[dict[str, str]] = field(factory=list)
    paths: list[str] = field(factory=list)
    url: str = ""


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Says]) -> Iterator[ModelServer]:
    """Runs it for the block."""
    state = ModelServer(answer)
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.asked.append(body)
            state.headers.append({k.lower(): v for k, v in self.headers.items()})
            state.paths.append(self.path)
            try:
                respond(self, body, state.answer(body), over)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had enough

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def respond(handler: BaseHTTPRequestHandler, body: dict[str, Any], says: Says, over: threading.Event) -> None:
    if over.wait(says.stall_s):
        return
    if says.raw is not None:
        _send(handler, says.status, says.raw, {"content-type": "text/html", **says.headers})
    elif says.status != 200:
        content = json.dumps({"error": {"message": says.error, "type": "error", "code": None}}).encode()
        _send(handler, says.status, content, {"content-type": "application/json", **says.headers})
    elif body.get("stream"):
        _stream(handler, body, says, over)
    else:
        usage = {"usage": _usage(says)} if says.usage else {}
        message = {"role": "assistant", "content": says.text}
        choice = {"index": 0, "message": message, "finish_reason": says.finish}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **usage}
        _send(handler, 200, json.dumps(whole).encode(), {"content-type": "application/json"})


def _usage(says: Says) -> dict[str, int]:
    return {"prompt_tokens": 100, "completion_tokens": len(says.text) // 4, "total_tokens": 100 + len(says.text) // 4}


def _send(handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def _stream(handler: BaseHTTPRequestHandler, body: dict[str, Any], says: Says, over: threading.Event) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("connection", "close")
    handler.end_headers()

    def chunk(choices: list[dict[str, Any]], **more: Any) -> None:
        data = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
        handler.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        handler.wfile.flush()

    size = 1 if says.trickle_s else 50
    for at in range(0, len(says.text), size):
        if says.trickle_s and over.wait(says.trickle_s):
            return
        chunk([{"index": 0, "delta": {"content": says.text[at : at + size]}, "finish_reason": None}])
        if says.drop:
            handler.close_connection = True
            return
    if says.finish is not None:
        chunk([{"index": 0, "delta": {}, "finish_reason": says.finish}])
    if says.usage and body.get("stream_options", {}).get("include_usage"):
        chunk([], usage=_usage(says))
    handler.wfile.write(b"data: [DONE]\n\n")
    handler.close_connection = True


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
