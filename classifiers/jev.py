"""The tagger `jev`: a hosted decision model answers the typed questions, one request a post.

It is reached through its own client (package `typesafe-sdk`, ``POST {base}/v1/systemone``), and so
is every other server with that endpoint. The client only makes single tries here: when to try
again, how many at once and when to stop is decided as for other live models, so a Retry-After holds
for all requests, and none outlives its limit.

Its answers are probabilities; they are not the same twice, and are kept (`classifiers.remote`).
Nothing that the server says in an error is shown or stored: such texts hold parts of keys.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from classifiers.questions import Answer, Choice, questions_for
from classifiers.remote import Heard, Placed, RemoteTagger, state_of
from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.breaker import Breaker
from swarm.models.faults import (
    AGAIN,
    LOAD,
    CallFailed,
    Fault,
    fault_of_status,
    pause_after,
    seconds_of,
)
from swarm.models.ledger import Ledger
from swarm.models.pace import Pace
from swarm.scenario import Rows
from swarm.text import storable

if TYPE_CHECKING:
    from typesafe_sdk import AsyncTypeSafeClient, SystemOneResponse

KEY = "TYPESAFE_API_KEY"
BASE_URL = "TYPESAFE_BASE_URL"
MODEL = "TYPESAFE_DEFAULT_MODEL"
LATEST = "jev-latest"
MOST_OPTIONS = 255
"""Options that a question may have."""
TIMEOUT = 30.0
"""Seconds of one try, hard."""
TRIES = {"load": 40, "unreadable": 2, "other": 6}
"""Tries of one request, by what they failed for."""
CONCURRENCY = 32
_FIRST_REFUSED = 5  # requests; when all of them are refused, something was set up wrongly


class JevTagger(RemoteTagger):
    """Asks a decision model through `typesafe_sdk`.

    Parameters
    ----------
    model : str, optional
        By default what ``TYPESAFE_DEFAULT_MODEL`` says, else the latest.
    api_base : str, optional
        Address of the server, up to ``/v1``; by default what ``TYPESAFE_BASE_URL`` says, else the
        client's own.
    """

    name = "jev"
    version = "1"

    def __init__(self, model: str | None = None, api_base: str | None = None) -> None:
        self.model = model or os.environ.get(MODEL, "").strip() or LATEST
        self._base = api_base or os.environ.get(BASE_URL, "").strip() or None

    @property
    def identity(self) -> Any:
        """The model's name."""
        return self.model

    def check(self) -> None:
        """See that the client is installed, and that there is a key and a usable address."""
        try:
            import_module("typesafe_sdk")
        except ImportError:
            raise ModelError(
                "the tagger jev needs the package typesafe-sdk; install it: "
                "pip install 'swarm-rooms[jev]'"
            ) from None
        key = os.environ.get(KEY, "").strip()
        if not key:
            raise ModelError(f"jev: the environment variable {KEY} is empty; put the key there")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ModelError(f"jev: what {KEY} holds is no key; a key has no spaces and is ASCII")
        if self._base is not None and not urlsplit(self._base).netloc:
            raise ModelError(
                f"jev: {BASE_URL} is no address; give one such as https://api.example.com"
            )

    @asynccontextmanager
    async def session(self, log: Log, writer: Writer) -> AsyncIterator[_Session]:
        """A client of the server."""
        self.check()
        from typesafe_sdk import AsyncTypeSafeClient, RetryPolicy

        once = RetryPolicy(max_retries=0)
        ledger = Ledger(log, writer)
        try:
            async with AsyncTypeSafeClient(
                base_url=self._base, model=self.model, retry=once, timeout=TIMEOUT
            ) as client:
                yield _Session(client, ledger, self.model, self._base)
        finally:
            await ledger.close(in_order=True)


class _Session:
    """See `classifiers.remote.Session`."""

    def __init__(
        self, client: AsyncTypeSafeClient, ledger: Ledger, model: str, base: str | None
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._model = model
        self._server = (urlsplit(base).hostname if base else None) or "the server"
        self._pace = Pace(CONCURRENCY)
        self._breaker = Breaker("jev")
        self._answered = self._refused = 0

    def keep(self, rows: Rows) -> None:
        """By way of the books of live calls, where a kill loses nothing."""
        self._ledger.keep(rows)

    async def ask(self, placed: Placed, first: int) -> Heard | None:
        """Ask until there is an answer or no sense in trying."""
        questions = questions_for(placed.post)
        most = max(len(question.criteria) for question in questions.values())
        if most > MOST_OPTIONS:
            raise ModelError(
                f"jev takes at most {MOST_OPTIONS} options a question, and {placed.room} has "
                f"{most}; tag it with another tagger"
            )
        failed = dict.fromkeys(TRIES, 0)
        while True:
            try:
                answers, response = await self._try(state_of(placed.post), questions)
            except CallFailed as fault:
                self._stop_at(fault)
                if fault.fault not in AGAIN:
                    return None
                kind = "load" if fault.fault in LOAD else "other"
                kind = "unreadable" if fault.fault is Fault.BAD_BODY else kind
                failed[kind] += 1
                if failed[kind] >= TRIES[kind]:
                    return None
            else:
                tokens, served = response.usage.input_tokens, storable(response.model[:200])
                return Heard(answers, first + 1, tokens, served)
            await asyncio.sleep(pause_after(failed["other"]))

    async def _try(
        self, state: dict[str, Any], questions: Mapping[str, Choice]
    ) -> tuple[dict[str, Answer], SystemOneResponse]:
        """One request under the pace, the breaker and the timeout."""
        async with self._pace.slot() as slot:
            look = await self._breaker.pass_through()
            slot.started = monotonic()
            try:
                response = await self._send(state, questions)
                answers = _answers(response, questions)
            except CallFailed as failed:
                slot.refused = failed.fault in LOAD
                slot.retry_after = failed.retry_after
                if failed.fault in AGAIN - LOAD and failed.fault is not Fault.BAD_BODY:
                    self._breaker.failed(look=look)
                else:
                    self._breaker.answered()
                raise
            except BaseException:
                self._breaker.let_go(look=look)
                raise
            slot.answered = True
            self._answered += 1
            self._breaker.answered()
            return answers, response

    async def _send(
        self, state: dict[str, Any], questions: Mapping[str, Choice]
    ) -> SystemOneResponse:
        import typesafe_sdk as sdk

        asked = {
            name: sdk.Choice(criteria=question.criteria, instructions=question.instructions)
            for name, question in questions.items()
        }
        try:
            async with asyncio.timeout(TIMEOUT):  # the client's own is for single reads
                return await self._client.system_one(state, asked)
        except TimeoutError:  # the client's is one, too
            raise CallFailed(Fault.TIMEOUT) from None
        except sdk.TypeSafeAPIConnectionError:
            raise CallFailed(Fault.CONNECTION) from None
        except sdk.TypeSafeAPIResponseValidationError:
            raise CallFailed(Fault.BAD_BODY, status=200) from None
        except sdk.TypeSafeAPIError as error:
            blocked = error.status == 403 and not isinstance(error.body, dict)
            raise CallFailed(
                fault_of_status(error.status, None),
                status=error.status,
                code="blocked" if blocked else None,
                retry_after=_retry_after(error),
            ) from None
        except sdk.TypeSafeError:  # it was not sent
            raise CallFailed(Fault.REFUSED) from None

    def _stop_at(self, failed: CallFailed) -> None:
        """Stop when every further request would fail like this one.

        Raises
        ------
        ModelError
            One line with the mend.
        """
        again = "and repeat the command, it goes on from there"
        mend = None
        if failed.code == "blocked":
            mend = (
                f"{self._server} answered 403 and no JSON: that is a proxy or firewall on the way, "
                f"not the model; check the network and {BASE_URL}"
            )
        elif failed.status == 403:
            mend = f"the key in {KEY} may not use model {self._model!r}; use another of them"
        elif failed.fault is Fault.NO_ACCESS:
            mend = f"the key in {KEY} is refused; set a valid one"
        elif failed.fault is Fault.NO_MONEY:
            mend = "the account's quota is used up; top it up"
        elif failed.fault is Fault.NOT_FOUND:
            mend = (
                f"{self._server} has no model {self._model!r}, or no /v1/systemone; mend "
                f"--tagger-model or {BASE_URL}"
            )
        elif failed.fault is Fault.REFUSED:
            self._refused += 1
            if self._answered == 0 and self._refused >= _FIRST_REFUSED:
                mend = (
                    f"{self._server} refused the first {self._refused} requests (status "
                    f"{failed.status}); mend --tagger-model or {BASE_URL}"
                )
        if mend:
            raise ModelError(f"jev: {mend}, {again}")


def _retry_after(error: Any) -> float | None:
    """Seconds that a refusal asks to wait."""
    given = getattr(error, "retry_after_ms", None)  # which also reads the date form
    return seconds_of(error.headers.get("retry-after")) if given is None else given / 1000


def _answers(response: SystemOneResponse, questions: Mapping[str, Choice]) -> dict[str, Answer]:
    """The answers in our form.

    Raises
    ------
    CallFailed
        `Fault.BAD_BODY`, when one is missing, or names an option that was not given.
    """
    given = response.choices
    found = {}
    for name, question in questions.items():
        answer = given.get(name)
        options = question.criteria
        if answer is None or answer.choice not in options or answer.probabilities.keys() - options:
            raise CallFailed(Fault.BAD_BODY, status=200)
        if not all(0 <= p <= 1 for p in answer.probabilities.values()):  # not a number is not
            raise CallFailed(Fault.BAD_BODY, status=200)
        all_of_them = {option: answer.probabilities.get(option, 0.0) for option in options}
        found[name] = Answer(answer.choice, all_of_them)
    return found
