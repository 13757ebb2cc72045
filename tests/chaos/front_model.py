"""The model server behind the fronts of a run: vLLM that goes on with an answer of which it is given the beginning.

No two generations are alike: each has a mark of its own in place of `MARK`, so that a mixture of two is noticed.

Run as `python -m tests.chaos.front_model --port PORT --ledger FILE --scripts FILE`, like `tests.support.model_servers`.
"""

import argparse
import asyncio
import signal
from collections import Counter
from pathlib import Path

import msgspec

from tests.chaos.front_said import MARK, MARKS, unmarked
from tests.support.model_servers.__main__ import Ledger, key_of
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.model_servers.wire import Body

NOT_OURS = "The beginning that was sent is none of this answer's."


def said(scripts: dict[str, Script], asked: Counter[str], body: Body) -> Script:
    """What is left to say: all of the script, or what comes behind the beginning. `asked` counts, by key."""
    key = key_of(body)
    script, mark = scripts[key], MARKS[asked[key] % len(MARKS)]
    asked[key] += 1
    begun = unmarked(body["messages"][-1]["content"]) if body.get("continue_final_message") else ""
    if not script.text.startswith(begun):
        return Script(NOT_OURS)
    return msgspec.structs.replace(script, text=script.text.removeprefix(begun).replace(MARK, mark))


async def _serve(arguments: argparse.Namespace) -> None:
    scripts = msgspec.json.decode(arguments.scripts.read_bytes(), type=dict[str, Script])
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    watch, asked = Ledger(arguments.ledger).watch, Counter[str]()
    async with Vllm(lambda body: said(scripts, asked, body), port=arguments.port, watch=watch) as server:
        print(server.url, flush=True)  # noqa: T201 -- who starts it waits for this line
        await over.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.front_model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scripts", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args()))
