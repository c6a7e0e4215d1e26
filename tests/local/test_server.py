"""The endpoint: what it says about itself, schemas through litellm, seeds, any GGUF, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from swarm.models.litellm_path import litellm
from swarm.models.local import weights_file

Serve = Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[str]]]]

REPLY = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "minLength": 20, "maxLength": 100},
        "post": {"type": "string", "minLength": 20, "maxLength": 100},
        "query": {"type": "string", "maxLength": 20},
        "file": {"type": "string", "maxLength": 10},
    },
    "required": ["note", "post", "query", "file"],
    "additionalProperties": False,
}


def models(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/models") as answer:
        return [entry["id"] for entry in json.load(answer)["data"]]


def complete(url: str, text: str, **parameters: Any) -> Any:
    return asyncio.run(
        litellm().acompletion(
            model="openai/local",
            api_base=url,
            api_key="none",
            messages=[{"role": "user", "content": text}],
            timeout=120,
            max_retries=0,
            **parameters,
        )
    )


def test_it_says_which_model_it_is(endpoint: str, name: str) -> None:
    assert models(endpoint) == [name]


def test_a_schema_holds_the_reply_through_litellm(endpoint: str) -> None:
    answer = complete(
        endpoint,
        'Answer with JSON only: {"note": "", "post": "", "query": "", "file": ""}',
        seed=1,
        max_tokens=300,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "turn", "schema": REPLY, "strict": True},
        },
    )
    reply = json.loads(answer.choices[0].message.content)
    assert sorted(reply) == ["file", "note", "post", "query"]
    assert min(len(reply["note"]), len(reply["post"])) >= 20, "the empty form is not copied"
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.completion_tokens > 0


def test_a_seat_finds_its_own_prompt_again(endpoint: str) -> None:
    shared = "The shop sells " + ", ".join(f"item {i}" for i in range(25))
    own = [f"{shared}. {seat} remembers the words left, right and under." for seat in "ABC"]

    def asked(text: str) -> tuple[int, int]:
        usage = complete(endpoint, text, max_tokens=1).usage
        return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens

    length, *_ = [tokens for tokens, _ in map(asked, own)]
    _, kept = asked(own[0] + " Then more happened.")
    assert kept > length - 10, "all of it, not only what the seats share"


def test_any_gguf_is_served_with_seeds_until_interrupted(cache: Path, serve: Serve) -> None:
    path = weights_file("smollm2-135m", cache)
    with serve("--gguf", str(path), "--reproducible") as (url, server):
        assert models(url) == ["smollm2-135m"]

        def said(seed: int) -> str:
            answer = complete(url, "Name a fruit.", seed=seed, max_tokens=24, temperature=1.0)
            return str(answer.choices[0].message.content)

        one, two = said(1), said(2)
        assert (said(1), said(2)) == (one, two)
        assert one != two
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
