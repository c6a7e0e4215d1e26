"""An OpenAI-compatible server on loopback that can be told to misbehave.

It answers as the surrogates would, or as `tag_oracle` does when asked about a post, so what it says
for a prompt and a seed never changes, and with given probabilities it does one of `KINDS` instead.
It can hide a limit (calls at once, calls a minute), and it keeps books: what it was asked, what it
answered in full, and what it would bill.

In a process of its own: ``python fault_server.py`` prints its port. ``POST /control`` changes its
`Settings` (a JSON object of some fields), ``GET /books`` returns `Books`; see `serving` for both.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import random
import sys
import time
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from aiohttp import web
from tag_oracle import reply_to

from swarm.models import models_for
from swarm.prompt import Prompt, block
from swarm.scenario import scenario_named

KINDS = (
    "429 with Retry-After",
    "429",
    "500",
    "503",
    "408",
    "401",
    "insufficient_quota",
    "hang",
    "close mid-body",
    "invalid JSON",
    "empty content",
    "finish_reason length",
    "null usage",
    "wrong schema",
    "fenced JSON",
    "10 MB content",
    "slow drip",
)
DELIVERED = frozenset(
    {
        "empty content",
        "finish_reason length",
        "null usage",
        "wrong schema",
        "fenced JSON",
        "10 MB content",
    }
)
"""Kinds that are replies all the same, good or bad: an answer reaches the caller in full."""
REFUSALS = {
    "429 with Retry-After": (429, "rate_limit_exceeded"),
    "429": (429, "rate_limit_exceeded"),
    "500": (500, "server_error"),
    "503": (503, "overloaded"),
    "408": (408, "timeout"),
    "401": (401, "invalid_api_key"),
    "insufficient_quota": (429, "insufficient_quota"),
    "400": (400, "invalid_request"),
    "402": (402, "payment_required"),
    "403": (403, "forbidden"),
    "404": (404, "model_not_found"),
}
"""Status and code of kinds that are errors; those that are not in `KINDS` come by `script` only."""
READ = 20_000  # characters of a reply that a caller can be expected to keep


@dataclass
class Settings:
    """How the server behaves; times in seconds, prices in US dollars a million tokens."""

    faults: dict[str, float] = field(default_factory=dict)
    sticky: dict[str, float] = field(default_factory=dict)  # the same for the same prompt and seed
    script: list[str] = field(default_factory=list)  # kinds of the next calls, one each, "" is none
    refuse: list[str] = field(default_factory=list)  # parameters that are answered with 400
    usage: dict[str, Any] = field(default_factory=dict)  # laid over the true usage
    retry_after: str = "0.2"
    journal: bool = False
    latency: float = 0.0
    at_once: int = 0  # 0 for no limit
    per_minute: int = 0
    burst: int = 5
    seed: int = 0
    surrogate: bool = True  # False: a constant reply, for speed
    confidence: float = 1.0  # that it states about a post
    tag_replies: dict[str, list[str]] = field(default_factory=dict)  # the next ones, by a line
    price_in: float = 1.0
    price_out: float = 2.0


@dataclass
class Books:
    """What happened since the start or the last reset."""

    asked: int = 0
    answered: int = 0
    refused_for_load: int = 0
    most_at_once: int = 0
    busy: float = 0.0  # seconds of all calls together, from accepted to answered
    billed: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    delivered: dict[str, int] = field(default_factory=dict)  # by hash of prompt and seed
    last: dict[str, Any] = field(default_factory=dict)  # body of the last call, messages aside
    last_turn: str = ""  # its last message
    last_header: str | None = None  # its Authorization
    journal: list[tuple[int, str, int]] = field(default_factory=list)  # seed, kind, CRC of reply


class FaultServer:
    """The server's state and handlers."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.books = Books()
        self._models = models_for(scenario_named("outage"), scenario_named("outage").surrogates())
        self._at_once = 0
        self._tokens = 5.0
        self._refilled = time.monotonic()
        self._dice = random.Random(0)

    def app(self) -> web.Application:
        """The server as an aiohttp application."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/control", self._control)
        app.router.add_get("/books", self._show_books)
        return app

    async def _control(self, request: web.Request) -> web.Response:
        change = await request.json()
        if change.pop("reset", False):
            self.books = Books()
            self._dice = random.Random(change.get("seed", self.settings.seed))
        for name, value in change.items():
            setattr(self.settings, name, value)
        return web.json_response({})

    async def _show_books(self, _: web.Request) -> web.Response:
        return web.json_response(asdict(self.books))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        books, settings = self.books, self.settings
        books.asked += 1
        if self._over_limit():
            books.refused_for_load += 1
            return _error(429, "rate_limit_exceeded")
        self._at_once += 1
        books.most_at_once = max(books.most_at_once, self._at_once)
        start = time.monotonic()
        try:
            if settings.latency:
                await asyncio.sleep(settings.latency)
            body = await request.json()
            books.last = {name: value for name, value in body.items() if name != "messages"}
            books.last_turn = body["messages"][-1]["content"]
            books.last_header = request.headers.get("Authorization")
            kind = "400" if set(settings.refuse) & body.keys() else self._fault(body)
            if kind:
                books.kinds[kind] = books.kinds.get(kind, 0) + 1
            return await self._answer(request, body, kind)
        finally:
            self._at_once -= 1
            books.busy += time.monotonic() - start

    def _over_limit(self) -> bool:
        settings = self.settings
        if settings.at_once and self._at_once >= settings.at_once:
            return True
        if settings.per_minute:
            now = time.monotonic()
            rate = settings.per_minute / 60
            self._tokens = min(settings.burst, self._tokens + (now - self._refilled) * rate)
            self._refilled = now
            if self._tokens < 1:
                return True
            self._tokens -= 1
        return False

    def _fault(self, body: dict[str, Any]) -> str | None:
        if self.settings.script:
            return self.settings.script.pop(0) or None
        draw = self._dice.random()
        for kind, share in self.settings.faults.items():
            draw -= share
            if draw < 0:
                return kind
        draw = int(_key(body)[:8], 16) / 2**32
        for kind, share in self.settings.sticky.items():
            draw -= share
            if draw < 0:
                return kind
        return None

    def _note(self, body: dict[str, Any], kind: str | None, text: str = "") -> None:
        if self.settings.journal:
            crc = zlib.crc32(text[:READ].encode())
            self.books.journal.append((body.get("seed") or 0, kind or "", crc))

    async def _answer(
        self, request: web.Request, body: dict[str, Any], kind: str | None
    ) -> web.StreamResponse:
        if kind in REFUSALS:
            status, code = REFUSALS[kind]
            self._note(body, kind)
            after = {"Retry-After": self.settings.retry_after} if "Retry-After" in kind else None
            return _error(status, code, after, str(request.headers.get("Authorization")))
        if kind == "hang":
            self._note(body, kind)
            await asyncio.sleep(3600)
        completion = await self._completion(body, kind)
        self._note(body, kind, completion["choices"][0]["message"]["content"])
        text = json.dumps(completion)
        if kind == "invalid JSON":
            text = text[: len(text) // 2] + "}}"
        if kind in ("close mid-body", "slow drip"):
            return await self._broken(request, text.encode(), kind)
        if kind is None or kind in DELIVERED:
            self.books.answered += 1
            key = _key(body)
            self.books.delivered[key] = self.books.delivered.get(key, 0) + 1
        return web.Response(text=text, content_type="application/json")

    async def _completion(self, body: dict[str, Any], kind: str | None) -> dict[str, Any]:
        system, turn = (message["content"] for message in body["messages"][:2])
        text = '{"note": "", "post": "ok", "query": "", "file": ""}'
        model = self._models.get(body["model"])
        told = reply_to(turn, self.settings.confidence)
        if told is not None:
            line = next((line for line in self.settings.tag_replies if line in turn), "")
            text = (self.settings.tag_replies.get(line) or [told]).pop(0)
        elif self.settings.surrogate and model is not None:
            prompt = Prompt((block("system", system),), (block("user", turn),))
            text = (await model.reply(prompt, body.get("seed") or 0)).text
        given, asked = (len(system) + len(turn)) // 4, max(1, len(text) // 4)
        self.books.billed += (
            given * self.settings.price_in + asked * self.settings.price_out
        ) / 1e6
        usage: dict[str, Any] | None = {"prompt_tokens": given, "completion_tokens": asked}
        usage |= self.settings.usage
        finish = "stop"
        if kind == "empty content":
            text = ""
        elif kind == "finish_reason length":
            text, finish = text[: len(text) // 2], "length"
        elif kind == "null usage":
            usage = None
        elif kind == "wrong schema":
            text = json.dumps({"thought": "hm", "answer": [1, 2, {"x": None}]})
        elif kind == "fenced JSON":
            text = f"```json\n{text}\n```"
        elif kind == "10 MB content":
            text += " " + "x" * 10_000_000
        return {
            "id": "stub",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "system_fingerprint": "stub",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": finish,
                }
            ],
            "usage": usage,
        }

    async def _broken(self, request: web.Request, data: bytes, kind: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(data)
        await response.prepare(request)
        if kind == "close mid-body":
            await response.write(data[: len(data) // 2])
            if request.transport is not None:
                request.transport.abort()
            return response
        with suppress(ConnectionError):  # the caller has enough of it
            for at in range(len(data)):
                await response.write(data[at : at + 1])
                await asyncio.sleep(0.5)
        return response


def _key(body: dict[str, Any]) -> str:
    asked = [body["model"], body["messages"], body.get("seed")]
    return hashlib.md5(json.dumps(asked).encode()).hexdigest()


def _error(
    status: int, code: str, headers: dict[str, str] | None = None, header: str = ""
) -> web.Response:
    """An error whose message holds the caller's key, as some providers' messages do."""
    body = {"error": {"message": f"no: your key {header}", "type": code, "code": code}}
    return web.json_response(body, status=status, headers=headers)


def shares(total: float, kinds: tuple[str, ...] = KINDS) -> dict[str, float]:
    """`total` shared evenly by `kinds`."""
    return dict.fromkeys(kinds, total / len(kinds))


async def serve() -> None:
    """Serve on a free port of this machine and print it."""
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # callers give up all the time
    runner = web.AppRunner(FaultServer().app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
