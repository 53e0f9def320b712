"""The server survives any client: each request gets one reply with the right code, and the next hover answers."""

from __future__ import annotations

import json
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.cli_world import Home
from tests.e2e.conftest import all_end, family
from tests.e2e.lsp.raw import LONG_S, Raw, frame, notification, request

PARSE, INVALID, UNKNOWN, PARAMS, EARLY, CANCELLED, REFUSED = -32700, -32600, -32601, -32602, -32002, -32800, -32803
RESULT = 0  # in place of a code
SHORT = 60
NUL, HALF = "file:///a\0b.py", "file:///\ud800.py"
LONG = "x" * 5_000_000

#: What is sent, and which reply each id gets: one of these codes. None stands for null.
Case = tuple[list[object], list[tuple[object, set[int]]]]
AT = {"line": 0, "character": 0}
DOCUMENT = {"uri": "file:///nobody.py"}
RANGE = {"start": AT, "end": AT}
#: Requests that are right in form; each leaf and branch of them is needed.
REQUESTS: dict[str, dict[str, Any]] = {
    "textDocument/hover": {"textDocument": DOCUMENT, "position": AT},
    "textDocument/codeLens": {"textDocument": DOCUMENT},
    "textDocument/codeAction": {"textDocument": DOCUMENT, "range": RANGE, "context": {"diagnostics": []}},
    "codeAction/resolve": {"title": "t", "data": {"uri": "u", "kernel": "k", "run": "r", "number": 1}},
    "workspace/executeCommand": {"command": "kernelband.server.stop_all"},
}
NOTIFICATIONS: dict[str, dict[str, Any]] = {
    "textDocument/didOpen": {"textDocument": {"uri": "u", "languageId": "python", "version": 1, "text": ""}},
    "textDocument/didChange": {"textDocument": {"uri": "u", "version": 1}, "contentChanges": [{"range": RANGE, "text": "x"}]},
    "textDocument/didClose": {"textDocument": DOCUMENT},
    "textDocument/didSave": {"textDocument": DOCUMENT},
    "workspace/didChangeWorkspaceFolders": {"event": {"added": [], "removed": []}},
    "window/workDoneProgress/cancel": {"token": "t"},
    "kernelband/didChangeTrust": {"folders": [{"uri": "file:///x", "trusted": False}]},
    "notebookDocument/didClose": {"notebookDocument": {"uri": "n"}, "cellTextDocuments": []},
    "$/setTrace": {"value": "off"},
    "$/cancelRequest": {"id": 1},
}
WRONG: dict[type, list[object]] = {
    str: [5, 1.5, True, None, [], {}, [LONG]],
    int: ["1", -1, 1.5, True, None, {}, 2**40],
    list: [5, True, None, {"a": 1}, "x"],
    dict: [5, "x", True, None, [], [[]]],
}
#: Commands with arguments of the right kinds that name nothing.
NOTHING: list[tuple[str, list[object], set[int]]] = [
    *[("optimize", [uri, "k"], {REFUSED}) for uri in ("", "x", "file:///nobody.py", "file://host/x", "file:///" + "a/" * 2000)],
    *[("optimize", [uri, "k"], {PARAMS}) for uri in (NUL, HALF, LONG)],
    ("resume", ["x", "k", "nope"], {REFUSED}),
    ("cancel", ["nope"], {REFUSED}),
    ("apply", ["u", "k", "nope", 1], {REFUSED}),
    ("patch", ["u", "k", "nope", -1], {REFUSED}),
    ("patch", ["u", "k", "nope", -(2**70)], {PARAMS}),
    ("reject", ["nope", 2**31 - 1], {REFUSED}),
    ("reject", ["nope", 2**70], {PARAMS}),
    ("report", ["u", "k"], {RESULT}),
    ("report", [HALF, "\0"], {PARAMS}),
    ("choose", ["u", "k"], {REFUSED}),
    ("stop_all", [], {RESULT}),
    ("runReport", ["nope"], {REFUSED}),
    ("runReport", [LONG], {PARAMS}),
    ("kernels", [], {RESULT}),
    ("runs", [5], {RESULT}),
    ("runs", [-1], {REFUSED}),
    ("runs", [True], {PARAMS}),
    ("forget", ["nope"], {REFUSED}),
    ("forget", [""], {REFUSED}),
    ("environment", ["u"], {REFUSED}),
    ("environment", ["file:///nobody.py", True], {REFUSED}),
    ("environment", [NUL], {PARAMS}),
]


def broken(rng: random.Random, value: Any) -> Any:
    """A copy with one thing of the wrong type, or missing."""
    if (isinstance(value, dict | list) and not value) or not isinstance(value, dict | list) or rng.random() < 0.15:
        return rng.choice(WRONG[type(value)]) if type(value) in WRONG else rng.choice([5, {}, []])
    if isinstance(value, list):
        return [broken(rng, value[0])]
    key = rng.choice(list(value))
    if rng.random() < 0.2:
        return {k: v for k, v in value.items() if k != key}
    return {k: broken(rng, v) if k == key else v for k, v in value.items()}


# ---------------------------------------------------------------- one kind of hostile message each
def wrong_types(rng: random.Random, n: int) -> Case:
    method = rng.choice(list(REQUESTS))
    params = broken(rng, REQUESTS[method])
    if method == "codeAction/resolve" and rng.random() < 0.5:
        right = REQUESTS[method]["data"]
        odd = [{"uri": "u"}, {**right, "uri": NUL}, {**right, "run": "\ud800"}, {**right, "number": 2**70}, {**right, "number": True}]
        params = {**REQUESTS[method], "data": rng.choice([None, [], "x", *odd])}
    return [request(n, method, params)], [(n, {PARAMS})]


def commands(rng: random.Random, n: int) -> Case:
    if rng.random() < 0.5:
        name, arguments, codes = rng.choice(NOTHING)
        return [request(n, "workspace/executeCommand", {"command": f"kernelband.server.{name}", "arguments": arguments})], [(n, codes)]
    name = rng.choice(["kernelband.server.nothing", "", "kernelband.optimize", "\0", "__init__", LONG])
    arguments = [rng.choice([1, None, {}, []])]
    if rng.random() < 0.7:
        name = "kernelband.server." + rng.choice(
            ["optimize", "resume", "cancel", "stop_all", "apply", "reject", "patch", "report", "choose"]
        )
        arguments += [rng.choice([True, 1.5, "x", {"jsonrpc": "2.0", "id": 1, "method": "exit"}]) for _ in range(rng.randint(0, 4))]
    return [request(n, "workspace/executeCommand", {"command": name, "arguments": arguments})], [(n, {PARAMS})]


def methods(rng: random.Random, n: int) -> Case:
    names = ["nothing", "", "$/nothing", "\0", "\ud800", "textDocument/completion", "window/showMessage", LONG, *NOTIFICATIONS, "exit"]
    method = rng.choice(names)
    if rng.random() < 0.2:
        return [request(n, rng.choice([5, None, [], {}, True]))], [(n, {INVALID})]
    return [request(n, method, NOTIFICATIONS.get(method, rng.choice([None, {}, [], 5])))], [(n, {UNKNOWN})]


def notifications(rng: random.Random, n: int) -> Case:
    method = rng.choice(list(NOTIFICATIONS))
    plain = notification(method, broken(rng, NOTIFICATIONS[method]))
    odd: list[object] = [
        plain,
        {k: v for k, v in plain.items() if k != "params"},
        notification(rng.choice(["nothing", "$/nothing", "\ud800", LONG, 5, None, []]), rng.choice([None, [], {"type_name": "1"}])),
        notification(rng.choice(list(REQUESTS)), {}),
        notification("shutdown"),
        notification("initialize", {}),
        notification("$/cancelRequest", {"id": rng.choice([n, "nobody", "", -1])}),
        {"jsonrpc": "2.0", "id": rng.choice(["nobody", 7, None, 1.5, []]), "result": None},
        {"jsonrpc": "2.0", "id": "nobody", "error": rng.choice([None, 5, {"code": "x"}, {"code": 1, "message": "m"}])},
    ]
    return [rng.choice(odd) if rng.random() < 0.6 else plain], []


def documents(rng: random.Random, n: int) -> Case:
    """Documents of odd names that come, change beyond their ends, go back in version and are closed twice; the known one goes back too."""
    uri = rng.choice([NUL, HALF, "", "x", "untitled:1", "file:///%00.py", "file://host/share.py", "vscode-notebook-cell:/n#x", str(n)])
    end = rng.choice([0, 3, 2**31 - 1])
    beyond = {"start": {"line": end, "character": 5}, "end": {"line": 0, "character": end}}
    text = rng.choice(["", "\0", "\ud800\udc00\ud800", "x\r\ry\n" * 9, "@triton.jit\ndef f(", "#" + LONG if rng.random() < 0.1 else "#"])
    change = {
        "contentChanges": [{"range": beyond, "text": rng.choice(["y", "\udc00", "\r"])}, {"text": text}, {"range": beyond, "text": "z"}]
    }
    found: list[object] = [
        notification("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": -5, "text": text}}),
        notification("textDocument/didChange", {"textDocument": {"uri": uri, "version": rng.choice([-9, 0, 2**31 - 1])}, **change}),
        request(n, "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": end, "character": end}}),
        request(f"{n}.a", "textDocument/codeAction", {"textDocument": {"uri": uri}, "range": beyond, "context": {"diagnostics": []}}),
        request(f"{n}.l", "textDocument/codeLens", {"textDocument": {"uri": uri}}),
        notification("textDocument/didClose", {"textDocument": {"uri": uri}}),
    ]
    closed = found[-1]
    if rng.random() < 0.4:
        rng.shuffle(found)
    again = notification("textDocument/didChange", {"textDocument": {"uri": uri, "version": 1}, **change})
    return [*found, closed, again, closed], [(i, {RESULT}) for i in (n, f"{n}.a", f"{n}.l")]


def envelopes(rng: random.Random, n: int) -> Case:
    hover = request(n, "textDocument/hover", REQUESTS["textDocument/hover"])
    deep = b"[" * 200_000 + b"]" * 200_000
    nested: Any = "x"
    for _ in range(300):
        nested = {"a": nested}
    cases: list[tuple[object, list[tuple[object, set[int]]]]] = [
        ([hover, hover], [(None, {INVALID})]),
        ([], [(None, {INVALID})]),
        (rng.choice([5, "x", None, True, 1.5]), [(None, {INVALID})]),
        ({}, [(None, {INVALID})]),
        ({"jsonrpc": "2.0", "id": n}, [(n, {INVALID})]),
        ({**hover, "jsonrpc": rng.choice(["1.0", 2.0, None, []])}, [(n, {INVALID})]),
        ({k: v for k, v in hover.items() if k != "jsonrpc"}, [(n, {INVALID})]),
        ({**hover, "id": rng.choice([None, 1.5, True, [], {}, 1e300])}, [(None, {INVALID})]),
        ({**hover, "id": (name := rng.choice([f"é{n}", f"{n}\0", f"\ud800{n}", f"{n}{LONG}"]))}, [(name, {RESULT})]),
        ({**hover, "id": 2**60 + n}, [(2**60 + n, {RESULT})]),
        ({**hover, "id": -n}, [(-n, {RESULT})]),
        (request(n, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}), [(n, {INVALID})]),
        (request(n, "workspace/executeCommand", {"command": "x", "arguments": [nested]}), [(n, {PARAMS})]),
        (b'{"jsonrpc":"2.0","id":%d,"method":"x","params":%b}' % (n, deep), [(None, {PARSE})]),
        (rng.choice([b"", b"{", b"\0", b"\xff\xfe\xfd", b'{"a":1}}', b'"\xc3"', b"{'a': 1}", b"x" * 5_000_000]), [(None, {PARSE})]),
    ]
    message, expected = rng.choice(cases)
    return [message], expected


def running(_: random.Random, n: int) -> Case:
    """A hover that waits for its large document, and is cancelled."""
    uri = f"file:///large{n}.py"
    ask = request(n, "textDocument/hover", {"textDocument": {"uri": uri}, "position": AT})
    item = {"uri": uri, "languageId": "python", "version": 1, "text": "import triton.jit\n" + "x = [1, 2, 3]\n" * 2_000}
    cancel = notification("$/cancelRequest", {"id": n})
    closed = notification("textDocument/didClose", {"textDocument": {"uri": uri}})
    opened = notification("textDocument/didOpen", {"textDocument": item})
    return [opened, ask, cancel, cancel, closed], [(n, {CANCELLED})]


KINDS: list[Callable[[random.Random, int], Case]] = [wrong_types, commands, methods, notifications, documents, envelopes]


def endure(home: Home, count: int, seed: int) -> Counter[int]:
    """Send so many hostile messages, ask for a hover after each. Returns how often each code came."""
    rng = random.Random(seed)
    codes: Counter[int] = Counter()
    with session(home) as client:
        assert "Nothing is measured or predicted" in client.hover("first")
        for n in range(1, count + 1):
            kind = running if n % 20 == 0 else KINDS[n % len(KINDS)]
            messages, expected = kind(rng, n)
            label = f"message {n} (seed {seed}, {kind.__name__}): {json.dumps(messages, default=repr)[:600]}"
            begin = len(client.replies)
            client.send(*messages)
            assert "Nothing is measured or predicted" in client.hover(f"hover {n}"), label
            while len(client.replies) - begin - 1 < len(expected):  # those that wait longer than the hover
                client.until(lambda m: "method" not in m)
            came = [r for r in client.replies[begin:] if r.get("id") != f"hover {n}"]
            codes.update(matched(came, expected, label))
        assert client.ask("bye", "shutdown")["result"] is None
        client.send(notification("exit"))
        assert client.end() == 0
        assert all("hover" in str(r.get("id")) or r.get("id") == "bye" for r in client.replies[begin + 1 + len(expected) :])
        for shown in (m for m in client.others if m["method"] == "window/showMessage"):
            assert "Traceback" not in shown["params"]["message"]
            assert "Error in server" not in shown["params"]["message"]
        assert "Traceback" not in client.stderr, client.stderr[-3000:]
    return codes


def matched(came: list[dict[str, Any]], expected: list[tuple[object, set[int]]], label: str) -> list[int]:
    """The codes of the replies, if they are the expected ones, each once."""
    left, found = list(expected), []
    for reply in came:
        assert ("result" in reply) != ("error" in reply), (label, reply)
        answer = reply.get("result")
        done = REFUSED if isinstance(answer, dict) and "refused" in answer else RESULT
        code = reply["error"]["code"] if "error" in reply else done
        fits = [e for e in left if e[0] == reply["id"] and code in e[1]]
        assert fits, f"{label}\nexpected {str(left)[:300]}, came {str(reply)[:600]}"
        left.remove(fits[0])
        found.append(code)
    assert not left, f"{label}\nno reply to {str(left)[:300]}"
    return found


@contextmanager
def session(home: Home) -> Iterator[Raw]:
    client = Raw(home)
    try:
        yield client.begin()
    finally:
        client.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, sys.executable)


def test_hostile_messages(home: Home) -> None:
    codes = endure(home, SHORT, 1)
    assert {PARSE, INVALID, UNKNOWN, PARAMS, CANCELLED, REFUSED, RESULT} <= set(codes), codes


# ---------------------------------------------------------------- beginning and end
def test_nothing_is_answered_before_initialize(home: Home) -> None:
    client = Raw(home)
    client.send(notification("textDocument/didOpen", NOTIFICATIONS["textDocument/didOpen"]))
    for n, method in enumerate([*REQUESTS, "shutdown", "nothing"]):
        assert client.ask(n, method, REQUESTS.get(method))["error"]["code"] == EARLY
    for n, params in enumerate([None, 5, {"capabilities": 5}, {"processId": "x", "capabilities": {}}]):
        assert client.ask(f"wrong {n}", "initialize", params)["error"]["code"] == PARAMS
    client.begin()
    assert client.hover("h")
    client.send(notification("exit"))
    assert client.end() == 1


def test_nothing_is_answered_after_shutdown(home: Home) -> None:
    client = Raw(home).begin()
    client.hover("h")
    client.send(request("s", "shutdown", {}), request("late", "textDocument/hover", REQUESTS["textDocument/hover"]))
    assert client.until(lambda m: m.get("id") == "late")["error"]["code"] == INVALID
    if not any(r["id"] == "s" for r in client.replies):
        client.until(lambda m: m.get("id") == "s")
    client.send(notification("textDocument/didOpen", NOTIFICATIONS["textDocument/didOpen"]))
    for n, method in enumerate([*REQUESTS, "shutdown", "initialize", "nothing"]):
        assert client.ask(n, method, REQUESTS.get(method))["error"]["code"] == INVALID
    client.send(notification("exit"))
    assert client.end() == 0


@pytest.mark.parametrize(
    "header",
    [
        b"hello\r\n\r\n",
        b"\r\n\r\n",
        b'{"jsonrpc": "2.0"',
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"\0\xff",
        frame(b"{}")[:-1] + b"}}",
    ],
)
def test_a_broken_header_is_a_clean_exit(home: Home, header: bytes) -> None:
    client = Raw(home).begin()
    client.hover("h")
    client.write(header + frame(b"{}"))  # a header ends with a line: what breaks one is seen then
    assert client.end() == 1
    assert "header" in client.stderr
    assert "Traceback" not in client.stderr


@pytest.mark.parametrize("large", [False, True])
def test_the_end_of_stdin_is_the_end(home: Home, large: bool) -> None:
    client = Raw(home).begin()
    client.hover("h")
    if large:  # a thread reads it for seconds
        item = {"uri": "file:///large.py", "languageId": "python", "version": 1, "text": "import triton.jit\n" + "x = [1, 2, 3]\n" * 60_000}
        client.send(notification("textDocument/didOpen", {"textDocument": item}))
        assert client.hover("h")
    earlier, before = resource.getrusage(resource.RUSAGE_CHILDREN), psutil.Process(client.process.pid).cpu_times()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.end() == 1
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - earlier.ru_utime - earlier.ru_stime
    assert total - before.user - before.system < 1  # of a processor, however busy: nobody waits for that thread


def test_the_end_of_stdin_ends_its_runs(tmp_path: Path, worker_python: str) -> None:
    client = Raw(Home(tmp_path, worker_python)).begin(python=worker_python, trials=1000)
    trusted = {"uri": client.home.work.as_uri(), "trusted": True}
    client.send(notification("kernelband/didChangeTrust", {"folders": [trusted]}))
    command = {"command": "kernelband.server.optimize", "arguments": [client.uri, "scale_kernel"]}
    assert "run" in client.ask("o", "workspace/executeCommand", command)["result"]
    client.until(lambda m: m.get("method") == "kernelband/runChanged" and m["params"]["phase"] == "capture")
    children = [pid for pid in family(client.process.pid) if pid != client.process.pid]
    assert len(children) >= 2  # the search and its worker
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.end() == 1
    assert all_end(children, LONG_S)
