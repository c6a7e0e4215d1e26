"""A stand-in server from the outside: a process of its own, its controls and its books."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("fault_server.py")


class Server:
    """A running server: `fault_server`'s, or another with the same controls.

    Attributes
    ----------
    root, base : str
        Its address, and the one that models get (``.../v1``).
    """

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.base = f"{self.root}/v1"

    def control(self, **settings: Any) -> None:
        """Change fields of its `fault_server.Settings`."""
        data = json.dumps(settings).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.root}/control", data=data, headers=headers)
        urllib.request.urlopen(request, timeout=60).close()

    def reset(self, **settings: Any) -> None:
        """Start anew: empty books, default settings but for `settings`."""
        from dataclasses import asdict

        from fault_server import Settings

        self.control(reset=True, **(asdict(Settings()) | settings))

    def books(self) -> dict[str, Any]:
        """Its `fault_server.Books`."""
        with urllib.request.urlopen(f"{self.root}/books", timeout=60) as answer:
            books: dict[str, Any] = json.load(answer)
        return books


@contextmanager
def serving(script: Path = SCRIPT) -> Iterator[Server]:
    """The server of `script`, as long as the block lasts."""
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Server(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
