"""Surrogate agents: scripted players of the outage room.

A surrogate reads its two texts (`scenarios.outage.view`), decides by its profile's probabilities
(`scenarios.outage.player`) and words what it does (`scenarios.outage.wording`). All its randomness
comes from the seed of the call, so the same prompt and seed give the same reply, here and behind an
HTTP endpoint.
"""

from __future__ import annotations

import json
import math
from random import Random

from scenarios.outage.player import Player
from scenarios.outage.profiles import Profile
from scenarios.outage.view import read_prompt
from swarm.models.base import Reply
from swarm.prompt import Prompt


class Surrogate:
    """A scripted player (see `swarm.models.base.Model`)."""

    surrogate = True

    def __init__(self, name: str, profile: Profile) -> None:
        self.name = name
        self._profile = profile

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """Play the turn that `prompt` describes.

        Raises
        ------
        ValueError
            When the prompt is not an outage room's.
        """
        system, turn = prompt.texts
        rng = Random(seed)
        answer = Player(read_prompt(system, turn), self._profile, rng).act()
        text = json.dumps(
            {
                "note": " ".join(answer.note),
                "post": " ".join(answer.post),
                "query": answer.query,
                "file": answer.file,
            },
            ensure_ascii=False,
        )
        if rng.random() < self._profile.careless:
            text = rng.choice((f"```json\n{text}\n```", f"Here is my turn: {text}", text[:-1], "-"))
        return Reply(
            text=text,
            reasoning=answer.reasoning,
            tokens_in=(len(system) + len(turn)) // 4,
            tokens_out=len(text) // 4,
            cost=0.0,
            latency=self._profile.seconds * math.exp(0.4 * rng.gauss(0.0, 1.0)),
            served_by=f"{self.name} (surrogate)",
            intents=tuple(answer.intents),
        )
