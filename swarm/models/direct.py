"""The direct way: aiohttp to an OpenAI-compatible server (vLLM, llama.cpp, Ollama, our own)."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import aiohttp

from swarm.models.faults import CallFailed, Fault, fault_of_status, seconds_of
from swarm.models.settings import ModelSettings
from swarm.models.transport import Answer, Request, answer_of

MOST_BYTES = 32 * 1024 * 1024
"""Of an answer's body; what is longer is no answer."""


class Direct:
    """A `Transport` over one aiohttp session, made when first used."""

    def __init__(self, settings: ModelSettings) -> None:
        assert settings.api_base is not None
        self._url = settings.api_base.rstrip("/") + "/chat/completions"
        self._model = settings.model.removeprefix("openai/")
        self._key_env = settings.key_env
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Answer:
        """One POST; see `swarm.models.transport.Transport`."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        headers = {"Content-Type": "application/json"}
        key = os.environ.get(self._key_env) if self._key_env else None
        if key:
            headers["Authorization"] = f"Bearer {key}"
        body = {"model": self._model, "messages": request.messages, **request.parameters}
        try:
            async with asyncio.timeout(request.timeout):
                async with self._session.post(
                    self._url, data=json.dumps(body).encode(), headers=headers
                ) as response:
                    data = await _body(response)
        except TimeoutError:
            raise CallFailed(Fault.TIMEOUT) from None
        except aiohttp.ClientConnectorError:
            raise CallFailed(Fault.UNREACHED) from None
        except (aiohttp.ClientError, OSError):
            raise CallFailed(Fault.CONNECTION) from None
        if response.status != 200:
            code = _code(data)
            raise CallFailed(
                fault_of_status(response.status, code),
                status=response.status,
                code=code,
                retry_after=seconds_of(response.headers.get("Retry-After")),
            )
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise CallFailed(Fault.BAD_BODY, status=200) from None
        return answer_of(answer)

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _body(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise CallFailed(Fault.BAD_BODY, status=response.status)
    return b"".join(parts)


def _code(data: bytes) -> str | None:
    """The error code of a provider's answer, where it has one."""
    try:
        error: Any = json.loads(data)["error"]
        code = error.get("code") or error.get("type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return code if isinstance(code, str) else None
