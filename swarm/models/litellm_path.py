"""The way through litellm, which translates between providers and does nothing else here.

Its retries, router, cache and budgets stay off. It is imported when the first live model is made,
because that takes seconds, and it is told to fetch nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

from swarm.models.faults import CallFailed, Fault, fault_of_status, seconds_of
from swarm.models.settings import ModelSettings
from swarm.models.transport import Answer, Request, answer_of


@cache
def litellm() -> Any:
    """The litellm module, told to fetch nothing and to load no ``.env``."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # pydantic's, about litellm's own types; some come as late as the first call.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\._internal")
    import litellm as module

    module.suppress_debug_info = True
    module.telemetry = False
    return module


def provider_of(model: str) -> str | None:
    """The provider that litellm would send `model` to, None when it knows none."""
    module = litellm()
    try:
        _, provider, _, _ = module.get_llm_provider(model=model)
    except module.exceptions.BadRequestError:
        return None
    return str(provider)


def takes(model: str, parameter: str) -> bool:
    """Whether litellm would send `parameter` to `model`'s provider."""
    return parameter in (litellm().get_supported_openai_params(model=model) or [])


def takes_schema(model: str) -> bool:
    """Whether litellm knows that `model` constrains replies to a schema."""
    return bool(litellm().supports_response_schema(model=model))


def listed_price(model: str) -> tuple[float, float | None, float] | None:
    """(input, cached, output) in US dollars for a million tokens, from litellm's price map."""
    module = litellm()
    try:
        info = module.get_model_info(model=model)
    except Exception:  # noqa: BLE001  it raises bare Exception for a model without a price
        return None
    given, asked = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if given is None or asked is None:
        return None
    cached = info.get("cache_read_input_token_cost")
    return given * 1e6, None if cached is None else cached * 1e6, asked * 1e6


class LiteLLM:
    """A `Transport` over litellm's `acompletion`."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    async def send(self, request: Request) -> Answer:
        """One completion; see `swarm.models.transport.Transport`."""
        module = litellm()
        extra: dict[str, Any] = {}
        if self._settings.api_base:
            extra["api_base"] = self._settings.api_base
        if self._settings.key_env:
            extra["api_key"] = os.environ.get(self._settings.key_env)
        elif self._settings.api_base:
            extra["api_key"] = "none"  # openai's client wants one, a local server does not
        try:
            answer = await module.acompletion(
                model=self._settings.model,
                messages=request.messages,
                timeout=request.timeout,
                max_retries=0,
                num_retries=0,
                **extra,
                **request.parameters,
            )
        except Exception as error:
            failed = _failed(error)
            if failed is None:
                raise error from None
            raise failed from None  # the original holds headers, which hold keys
        return answer_of(answer.model_dump())

    async def close(self) -> None:
        """litellm keeps its clients for the whole process."""


_BY_NAME = {
    "Timeout": Fault.TIMEOUT,
    "APITimeoutError": Fault.TIMEOUT,
    "RateLimitError": Fault.RATE_LIMITED,
    "ServiceUnavailableError": Fault.OVERLOADED,
    "BadGatewayError": Fault.SERVER,
    "InternalServerError": Fault.SERVER,
    "APIConnectionError": Fault.CONNECTION,
    "APIResponseValidationError": Fault.BAD_BODY,
    "JSONSchemaValidationError": Fault.BAD_BODY,
    "AuthenticationError": Fault.NO_ACCESS,
    "PermissionDeniedError": Fault.NO_ACCESS,
    "PaymentRequiredError": Fault.NO_MONEY,
    "NotFoundError": Fault.NOT_FOUND,
    "BadRequestError": Fault.REFUSED,
    "UnprocessableEntityError": Fault.REFUSED,
}


_WITHOUT_ANSWER = {
    "ConnectError": Fault.UNREACHED,
    "ClientConnectorError": Fault.UNREACHED,
    "TransportError": Fault.CONNECTION,
    "ClientError": Fault.CONNECTION,
    "JSONDecodeError": Fault.BAD_BODY,
}
"""What lies beneath a status of 500 that litellm made up; the first that is there counts."""

_ANSWERED = frozenset({"HTTPStatusError", "APIStatusError"})


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _code(chain: list[BaseException]) -> str | None:
    """The provider's code: litellm puts the status in its place, beneath it is the true one."""
    for link in chain:
        body = getattr(link, "body", None)
        body = body if isinstance(body, dict) else {}
        for code in (getattr(link, "code", None), body.get("code"), body.get("type")):
            if isinstance(code, str) and not code.isdigit():
                return code
    return None


def _failed(error: Exception) -> CallFailed | None:
    """The fault that an exception of litellm's stands for; None for a bug of ours."""
    if type(error).__module__.split(".")[0] not in ("litellm", "openai", "httpx", "aiohttp"):
        return None
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    chain = list(_chain(error))
    code = "insufficient_quota" if "insufficient_quota" in str(error) else _code(chain)
    names = [kind.__name__ for kind in type(error).__mro__]
    fault = next((_BY_NAME[name] for name in names if name in _BY_NAME), None)
    beneath = {
        kind.__name__
        for link in chain
        if not type(link).__module__.startswith("litellm")
        for kind in type(link).__mro__
    }
    lost = next((_WITHOUT_ANSWER[name] for name in _WITHOUT_ANSWER if name in beneath), None)
    if status is not None and fault_of_status(status, code) is Fault.NO_MONEY:
        fault = Fault.NO_MONEY
    elif fault in (Fault.SERVER, Fault.CONNECTION) and lost and not beneath & _ANSWERED:
        fault, status = lost, 200 if lost is Fault.BAD_BODY else None
    elif fault is None or names[0] == "APIError":
        fault = fault_of_status(status, code) if status else Fault.CONNECTION
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return CallFailed(
        fault, status=status, code=code, retry_after=seconds_of(headers.get("retry-after"))
    )
