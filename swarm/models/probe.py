"""One tiny call to a live model: is it there, and what can it do?"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from swarm.models.faults import CallFailed, Fault
from swarm.models.live import check_model, transport_of
from swarm.models.settings import ModelSettings
from swarm.models.transport import Answer, Request, Transport

_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["word", "number"],
    "additionalProperties": False,
}
_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "probe", "schema": _SCHEMA, "strict": True},
}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe found.

    Attributes
    ----------
    reachable : bool
    fault : str or None
        Why not.
    schema, seed : str
        ``yes``, ``no`` (refused), ``ignored`` (taken, without effect), ``-`` (not tried).
    tokens_in, tokens_out : int or None
        Of all probe calls; None when the provider does not count.
    seconds : float or None
        Latency of the plain call.
    served_by : str or None
    """

    reachable: bool
    fault: str | None = None
    schema: str = "-"
    seed: str = "-"
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    served_by: str | None = None


async def probe(name: str, settings: ModelSettings) -> Probe:
    """Call a model with a tiny prompt: plainly, with a schema, with a seed.

    Raises
    ------
    ModelError
        When the model is unknown or its key is not set.
    """
    check_model(name, settings)
    transport = transport_of(settings)
    try:
        return await _probe(transport, settings)
    finally:
        await transport.close()


async def _probe(transport: Transport, settings: ModelSettings) -> Probe:
    parameters = dict(settings.parameters)
    if "max_completion_tokens" not in parameters:
        parameters.setdefault("max_tokens", min(settings.max_tokens, 256))
    request = Request(
        "Answer with one JSON object only.",
        'Reply with {"word": "ok", "number": 7}.',
        parameters,
        min(settings.timeout, 60.0),
    )
    start = monotonic()
    try:
        plain = await transport.send(request)
    except CallFailed as failed:
        return Probe(False, fault=_why(failed))
    seconds = monotonic() - start
    answers = [plain]
    schema = await _with(transport, request, answers, response_format=_FORMAT)
    if schema == "yes" and not _obeys(answers[-1].text):
        schema = "ignored"
    seed = await _with(transport, request, answers, seed=7)
    if seed == "yes":
        again = await _with(transport, request, answers, seed=7)
        if again == "yes" and answers[-1].text != answers[-2].text:
            seed = "ignored"
    return Probe(
        True,
        schema=schema,
        seed=seed,
        tokens_in=_sum(a.tokens_in for a in answers),
        tokens_out=_sum(a.tokens_out for a in answers),
        seconds=seconds,
        served_by=plain.served_by,
    )


async def _with(transport: Transport, request: Request, answers: list[Answer], **extra: Any) -> str:
    """``yes`` when a call with `extra` is answered (the answer is added), else ``no``."""
    try:
        answer = await transport.send(replace(request, parameters={**request.parameters, **extra}))
    except CallFailed as failed:
        return "no" if failed.fault is Fault.REFUSED else _why(failed)
    answers.append(answer)
    return "yes"


def _obeys(text: str) -> bool:
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and found.keys() == {"word", "number"}


def _sum(counts: Any) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _why(failed: CallFailed) -> str:
    return f"{failed.fault} ({failed.status})" if failed.status else str(failed.fault)
