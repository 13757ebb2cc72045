"""A server of tools that misbehaves, each tool in its way. It speaks the protocol by hand: no library would do this.

Run as `python -m tests.support.odd_server`.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

Arguments = Mapping[str, Any]

waiting: list[int] = []
lists: list[int] = []


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: int, text: str, *, behind: bool = False) -> None:
    """The number behind the result is how the SDK for TypeScript writes it."""
    result = {"content": [{"type": "text", "text": text}]}
    front, back = {"jsonrpc": "2.0", "id": number}, {"result": result, "jsonrpc": "2.0", "id": number}
    say(back if behind else front | {"result": result})


def junk(number: int, arguments: Arguments) -> None:
    """Lines that are no messages."""
    for line in ["Server ready!", "{}", "[1", "\x1b[2J", ""] * int(arguments["lines"]):
        sys.stdout.write(line + "\n")
    answer(number, "clean")


def flood(number: int, arguments: Arguments) -> None:
    """Much on the standard error."""
    sys.stderr.write("so much to say\n" * int(arguments["lines"]))
    sys.stderr.flush()
    answer(number, "said")


def twice(number: int, _: Arguments) -> None:
    """Two answers."""
    answer(number, "first")
    answer(number, "second")
    answer(number + 1_000, "to nobody")


def late(number: int, _: Arguments) -> None:
    """Answered behind the next one."""
    waiting.append(number)


def release(number: int, _: Arguments) -> None:
    """The last one first."""
    answer(number, "released")
    while waiting:
        answer(waiting.pop(), f"late {len(waiting)}")


def huge(number: int, arguments: Arguments) -> None:
    """A result of so many bytes."""
    answer(number, "x" * int(arguments["size"]), behind=bool(arguments.get("behind")))


def raw(number: int, arguments: Arguments) -> None:
    """A line as it is given, of which each character is a byte."""
    sys.stdout.flush()
    sys.stdout.buffer.write(str(arguments["line"]).replace("NUMBER", str(number)).encode("latin-1") + b"\n")
    sys.stdout.buffer.flush()


def run(number: int, _: Arguments) -> None:
    """Far ahead, beyond all numbers, and done."""
    for done, total in (("1", "NaN"), ("1e400", "2"), ("2", "2")):
        fields = f'"progressToken":{number},"progress":{done},"total":{total}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{{{fields}}}}}\n')
    answer(number, "there")


def process(number: int, _: Arguments) -> None:
    """Which one it is."""
    answer(number, str(os.getpid()))


def spawn(number: int, arguments: Arguments) -> None:
    """A process that wants to outlive its parent, in its group or in one of its own."""
    detached = bool(arguments.get("detached"))
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdin=subprocess.DEVNULL, start_new_session=detached)
    answer(number, str(child.pid))


def grow(number: int, arguments: Arguments) -> None:
    """Takes so much memory."""
    held = bytearray(int(arguments["size"]))
    answer(number, str(len(held)))


def change(number: int, _: Arguments) -> None:
    """Offers one more."""
    TOOLS["more"] = twice
    say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    answer(number, "changed")


def busy(number: int, arguments: Arguments) -> None:
    """Has other tools, and no time to say which."""
    say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    time.sleep(float(arguments["seconds"]))
    answer(number, "busy")


def restless(number: int, _: Arguments) -> None:
    """From now on its list changes whenever it is asked for."""
    lists.append(0)
    change(number, {})


def spoil(number: int, _: Arguments) -> None:
    """From now on its list can't be used; this call waits."""
    TOOLS["x" * 500] = twice
    waiting.append(number)
    lists.append(0)
    say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def asked(number: int, _: Arguments) -> None:
    """How often it was asked since."""
    answer(number, str(len(lists)))


def hang(_number: int, _: Arguments) -> None:
    """Nothing is read or said any more."""
    while True:
        time.sleep(60)


def farewell(number: int, arguments: Arguments) -> None:
    """Ends with its answer, or half of it, whose line does not."""
    said = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"goodbye"}}]}}}}'
    sys.stdout.write(said[: len(said) // 2] if arguments.get("half") else said)
    sys.stdout.flush()
    sys.exit(0)


def demand(number: int, arguments: Arguments) -> None:
    """Wants something itself, of so many bytes, under the same number."""
    front, back = {"jsonrpc": "2.0", "id": number}, {"method": "ask", "params": {"x": "x" * int(arguments["size"])}}
    say(back | front if arguments.get("behind") else front | back)
    answer(number, "done")


def leave(_number: int, _: Arguments) -> None:
    """Ends."""
    sys.exit(3)


def last(number: int, _: Arguments) -> None:
    """Answers, and ends."""
    answer(number, "said")
    sys.exit()


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""

TOOLS: dict[str, Callable[[int, Arguments], None]] = {
    tool.__name__: tool
    for tool in (
        junk,
        flood,
        twice,
        late,
        release,
        huge,
        raw,
        process,
        run,
        spawn,
        grow,
        change,
        busy,
        restless,
        spoil,
        asked,
        hang,
        farewell,
        demand,
        leave,
        last,
    )
}


def main() -> None:
    if "--silent" in sys.argv:
        threading.Event().wait()
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "odd", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            say({"jsonrpc": "2.0", "id": number, "result": result})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            say({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
            if lists:
                lists.append(number)
                say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif method == "tools/call":
            TOOLS[message["params"]["name"]](number, message["params"].get("arguments", {}))
        elif number is not None:
            say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main()
