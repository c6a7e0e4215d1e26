"""The surrogates behind an OpenAI-compatible endpoint.

``POST /v1/chat/completions`` takes the usual body; ``model`` names a surrogate, the first system
message is the system prompt, the last user message the turn prompt, and ``seed`` the draw. The same
prompt and seed give the same reply as in process. ``GET /v1/models`` lists the surrogates.
"""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from swarm.models import models_for
from swarm.models.base import Model, Reply
from swarm.prompt import Prompt, block
from swarm.scenario import Scenario

MAX_BODY = 4 * 1024 * 1024


class _BadRequest(Exception):
    """A body that is no chat completion request; the text says what is missing."""


def make_app(scenario: Scenario) -> web.Application:
    """The endpoint as an aiohttp application."""
    models = models_for(scenario, scenario.surrogates())
    created = int(time.time())

    async def list_models(_: web.Request) -> web.Response:
        entries = [
            {"id": name, "object": "model", "created": created, "owned_by": "swarm surrogates"}
            for name in models
        ]
        return web.json_response({"object": "list", "data": entries})

    async def complete(request: web.Request) -> web.Response:
        try:
            body = await request.json()
        except ValueError:
            return _error(400, "the body is not JSON")
        try:
            model, prompt, seed = _asked(body, models)
            reply = await model.reply(prompt, seed)
        except (_BadRequest, ValueError) as error:
            return _error(400, str(error))
        except KeyError as error:
            known = ", ".join(models)
            return _error(404, f"there is no surrogate {error}; there are {known}")
        return web.json_response(_completion(model.name, reply))

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_get("/v1/models", list_models)
    app.router.add_post("/v1/chat/completions", complete)
    return app


def _asked(body: Any, models: dict[str, Model]) -> tuple[Model, Prompt, int]:
    if not isinstance(body, dict):
        raise _BadRequest("the body is not an object")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise _BadRequest("messages must be a list of objects")
    texts = {m.get("role"): _text(m.get("content")) for m in messages}
    if "system" not in texts or "user" not in texts:
        raise _BadRequest("messages must hold a system and a user message")
    if body.get("stream"):
        raise _BadRequest("streaming is not offered")
    seed = body.get("seed")
    if seed is None:
        seed = 0
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise _BadRequest("seed must be a whole number")
    prompt = Prompt((block("system", texts["system"]),), (block("user", texts["user"]),))
    return models[str(body.get("model"))], prompt, seed


def _text(content: Any) -> str:
    """A message's text; content may be a string or a list of text parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    raise _BadRequest("a message's content must be text")


def _completion(name: str, reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
    return {
        "id": "chatcmpl-surrogate",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "system_fingerprint": "surrogate",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _error(status: int, text: str) -> web.Response:
    return web.json_response(
        {"error": {"message": text, "type": "invalid_request_error", "code": None}}, status=status
    )
