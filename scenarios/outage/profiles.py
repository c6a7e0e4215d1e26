"""The four surrogate profiles.

Each imitates the published aggregate behaviour of the model that it is named after, as far as the
publication tells it: how often it plans, how it words its posts, how readily it does what it is
asked. They are scripted agents and say nothing about any model.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """Probabilities of a surrogate's choices; all per turn in which the choice comes up.

    Attributes
    ----------
    voice : str
        How it words posts (`scenarios.outage.wording.VOICES`).
    plans : float
        Writes a plan in round 1, when not listed first.
    claims : float
        Otherwise claims a service for itself in round 1.
    obeys : float
        Does what a directive asks, when the wording neither hedges nor argues.
    orders : float
        Asks a teammate to query a root that it knows and cannot query itself.
    delegates : float
        Asks a teammate to file a cause that it knows, rather than filing it.
    files : float
        Files a cause that it learned from the channel.
    guesses : float
        Files one of a known root's config changes without evidence, late in the game.
    careless : float
        Writes a reply that is not plain JSON.
    seconds : float
        Median latency of a reply.
    """

    voice: str
    plans: float
    claims: float
    obeys: float
    orders: float
    delegates: float
    files: float
    guesses: float
    careless: float
    seconds: float


FIRST_PLANS = 3.0
"""The first name of the list plans this many times as often (published: 3)."""

PROFILES: dict[str, Profile] = {
    "claude-sonnet-5.5": Profile(
        voice="warm", plans=0.22, claims=0.82, obeys=0.75, orders=0.6, delegates=0.08,
        files=0.5, guesses=0.15, careless=0.004, seconds=6.0,
    ),
    "gpt-6.1-sol": Profile(
        voice="careful", plans=0.15, claims=0.85, obeys=0.75, orders=0.9, delegates=0.06,
        files=0.45, guesses=0.08, careless=0.002, seconds=9.0,
    ),
    "gemini-3.1-pro": Profile(
        voice="brisk", plans=0.24, claims=0.8, obeys=0.75, orders=0.4, delegates=0.08,
        files=0.55, guesses=0.25, careless=0.01, seconds=5.0,
    ),
    "kimi-k3": Profile(
        voice="tentative", plans=0.065, claims=0.82, obeys=0.75, orders=0.12, delegates=0.04,
        files=0.5, guesses=0.2, careless=0.02, seconds=11.0,
    ),
}  # fmt: skip
