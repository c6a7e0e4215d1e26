"""What can go wrong with a call, and what is done about it.

Every failed try of a live call is one `Fault`. Three ways lead on from it: try again, give the turn
up (the agent passes), or stop the study, because every further call would fail in the same way.
"""

from __future__ import annotations

import random
from enum import StrEnum

from swarm.errors import ModelError


class Fault(StrEnum):
    """The class of a failed try; its text is what the log and reports say."""

    RATE_LIMITED = "rate limited"
    OVERLOADED = "overloaded"
    SERVER = "server error"
    TIMEOUT = "timeout"
    CONNECTION = "connection lost"
    UNREACHED = "not reached"
    BAD_BODY = "unreadable answer"
    REFUSED = "refused"
    NOT_FOUND = "not found"
    NO_ACCESS = "no access"
    NO_MONEY = "quota used up"


AGAIN = frozenset(
    {
        Fault.RATE_LIMITED,
        Fault.OVERLOADED,
        Fault.SERVER,
        Fault.TIMEOUT,
        Fault.CONNECTION,
        Fault.UNREACHED,
        Fault.BAD_BODY,
    }
)
"""Faults after which the same call is tried again."""

LOAD = frozenset({Fault.RATE_LIMITED, Fault.OVERLOADED})
"""Faults of too many calls at once: the pace answers them, they say nothing about the call."""

STOP = frozenset({Fault.NOT_FOUND, Fault.NO_ACCESS, Fault.NO_MONEY})
"""Faults that every further call would meet."""

PERHAPS_BILLED = frozenset({Fault.TIMEOUT, Fault.CONNECTION, Fault.BAD_BODY})
"""Faults after which the provider may charge for the reply; the budget assumes that it does."""

_LONGEST_PAUSE = 20.0  # seconds between tries
LONGEST_RETRY_AFTER = 60.0
"""Seconds of a Retry-After that are believed; a provider cannot put a study to sleep for ever."""


def pause_after(others: int) -> float:
    """Seconds to wait before the next try, after `others` faults that were not for load.

    Full jitter: calls that failed together must not come back together. A refusal for load waits
    for the pace, not here.
    """
    longest = min(_LONGEST_PAUSE, 0.25 * 2.0 ** min(others, 10)) if others else 0.05
    return random.uniform(0.0, longest)


class CallFailed(Exception):
    """One try failed.

    Attributes
    ----------
    fault : Fault
    status : int or None
        HTTP status, where there was one.
    code : str or None
        The provider's own short code, such as ``insufficient_quota``. Its message is not kept:
        providers put parts of keys into messages.
    retry_after : float or None
        Seconds, at most `LONGEST_RETRY_AFTER`.
    """

    def __init__(
        self,
        fault: Fault,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(str(fault))
        self.fault = fault
        self.status = status
        self.code = code if code is None or code.replace("_", "").isalnum() else None
        self.retry_after = (
            None if retry_after is None else min(max(retry_after, 0.0), LONGEST_RETRY_AFTER)
        )


class BudgetExhausted(ModelError):
    """The study's budget does not hold another call."""


def fault_of_status(status: int, code: str | None) -> Fault:
    """The class of an HTTP status with the provider's error code."""
    if code in ("insufficient_quota", "billing_hard_limit_reached") or status == 402:
        return Fault.NO_MONEY
    if status == 429:
        return Fault.RATE_LIMITED
    if status in (503, 529):
        return Fault.OVERLOADED
    if status in (401, 403):
        return Fault.NO_ACCESS
    if status == 404:
        return Fault.NOT_FOUND
    if status == 408:
        return Fault.TIMEOUT
    return Fault.SERVER if status >= 500 else Fault.REFUSED


def seconds_of(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After header in seconds; its date form is not worth a clock's skew."""
    try:
        return float(retry_after) if retry_after else None
    except ValueError:
        return None
