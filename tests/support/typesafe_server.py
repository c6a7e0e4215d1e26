"""A decision model's server on loopback: ``POST /v1/systemone``, and told to misbehave.

It answers typed questions as `tag_oracle` does and keeps books. The next requests do what `script`
says, one each ("" is nothing special), see `KINDS`; a request whose post holds a key of `sticky`
always does. In a process of its own: ``python typesafe_server.py`` prints its port; ``POST
/control`` changes `Settings` (after ``"reset": true`` all of them), ``GET /books`` returns `Books`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from tag_oracle import entries, post_in_state

SCRIPT = Path(__file__)
REFUSALS = {"400": 400, "401": 401, "402": 402, "403": 403, "404": 404, "422": 422, "429": 429,
            "429 with Retry-After": 429, "500": 500, "503": 503}  # fmt: skip
KINDS = (
    *REFUSALS,
    "403 text",
    "hang",
    "drip",
    "close",
    "invalid JSON",
    "missing answers",
    "unknown option",
    "odd probability",
    "not a number",
)


@dataclass
class Settings:
    """How the server behaves; times in seconds."""

    script: list[str] = field(default_factory=list)
    sticky: dict[str, str] = field(default_factory=dict)
    retry_after: str = "0.5"
    latency: float = 0.0
    sure: float = 0.9  # probability of every answer
    at_once: int = 0  # 0 for no limit


@dataclass
class Books:
    """What happened since the start or the last reset."""

    asked: int = 0
    answered: int = 0
    at_once: int = 0  # at this moment
    most_at_once: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    delivered: dict[str, int] = field(default_factory=dict)  # by `key_of` its state
    times: list[float] = field(default_factory=list)  # of requests
    last: dict[str, Any] = field(default_factory=dict)  # body of the last request
    last_header: str | None = None  # its Authorization


def key_of(round: int, author: str, post: str) -> str:
    """How the books call a post; rooms may share one."""
    return f"{round} {author} {post}"


class TypeSafeServer:
    """The server's state and handlers."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.books = Books()

    def app(self) -> web.Application:
        """The server as an aiohttp application."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/systemone", self._answer)
        app.router.add_post("/control", self._control)
        app.router.add_get("/books", self._show_books)
        return app

    async def _control(self, request: web.Request) -> web.Response:
        change = await request.json()
        if change.pop("reset", False):
            self.books, self.settings = Books(), Settings()
        for name, value in change.items():
            setattr(self.settings, name, value)
        return web.json_response({})

    async def _show_books(self, _: web.Request) -> web.Response:
        return web.json_response(asdict(self.books))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        books, settings = self.books, self.settings
        books.asked += 1
        books.times.append(time.monotonic())
        if settings.at_once and books.at_once >= settings.at_once:
            return web.json_response({"error": "slow down"}, status=429)
        books.at_once += 1
        books.most_at_once = max(books.most_at_once, books.at_once)
        try:
            await asyncio.sleep(settings.latency)
            body = await request.json()
            books.last, books.last_header = body, request.headers.get("Authorization")
            post = str(body["state"]["post"])
            kind = settings.script.pop(0) if settings.script else ""
            kind = kind or next((k for text, k in settings.sticky.items() if text in post), "")
            if kind:
                books.kinds[kind] = books.kinds.get(kind, 0) + 1
            return await self._as_told(request, body, kind)
        finally:
            books.at_once -= 1

    async def _as_told(
        self, request: web.Request, body: dict[str, Any], kind: str
    ) -> web.StreamResponse:
        if kind in REFUSALS:
            after = {"Retry-After": self.settings.retry_after} if "Retry-After" in kind else None
            error = {"error": {"message": f"no: your key is {request.headers['Authorization']}"}}
            return web.json_response(error, status=REFUSALS[kind], headers=after)
        if kind == "403 text":
            key = request.headers["Authorization"]
            return web.Response(text=f"<html>Blocked. {key}</html>", status=403)
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "drip":
            return await _dripping(request)
        if kind == "close" and request.transport is not None:
            request.transport.abort()
        answers = self._answers(body, kind)
        text = json.dumps({"model": "jev-test-1", "usage": {"input_tokens": 100}} | answers)
        if kind == "invalid JSON":
            text = text[: len(text) // 2]
        if not kind:
            state = body["state"]
            key = key_of(state["round"], state["author"], state["post"])
            self.books.answered += 1
            self.books.delivered[key] = self.books.delivered.get(key, 0) + 1
        return web.Response(text=text, content_type="application/json")

    def _answers(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        told = entries(post_in_state(body["state"]))
        answers = {}
        for name, question in body["questions"].items():
            teammate, part = name.rsplit(".", 1)
            options, choice = question["criteria"], told[teammate][part]
            rest = (1 - self.settings.sure) / max(1, len(options) - 1)
            probabilities: dict[str, Any] = dict.fromkeys(options, rest)
            probabilities[choice] = self.settings.sure
            if kind == "odd probability":
                probabilities[choice] = 1.5
            if kind == "not a number":
                probabilities[choice] = float("nan")
            if kind == "unknown option":
                choice = "a coffee"
            answers[name] = {
                "type": "choice",
                "choice": choice,
                "confidence": self.settings.sure,
                "probabilities": probabilities,
            }
        if kind == "missing answers":
            answers.popitem()
        return {"answers": answers}


async def _dripping(request: web.Request) -> web.StreamResponse:
    """An answer that comes a byte at a time and has no end, so that no single read is slow."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    with suppress(ConnectionError):  # the caller has enough of it
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)
    return response


def main() -> None:
    """Serve on a free port, and print it."""

    async def serve() -> None:
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # callers get killed
        runner = web.AppRunner(TypeSafeServer().app(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    sys.exit(main())
