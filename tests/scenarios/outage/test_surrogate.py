"""A surrogate is a function of two texts and a seed, and what it reads moves it.

So the same texts give the same reply, however they were put together and in whichever process. A
post that asks for something is a cause: with it in the text the thing asked for is done more
often. And what is not in the text cannot be known: without a root's card a surrogate guesses
between its two changes like a coin.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from random import Random

import pytest
from scipy.stats import binomtest

from replays.decisions import Setting, settings_of
from scenarios.outage import prompts
from scenarios.outage.profiles import PROFILES
from scenarios.outage.settings import OutageSettings
from scenarios.outage.surrogate import Surrogate
from scenarios.outage.world import World, make_world
from swarm.log.store import Log
from swarm.models.base import Reply
from swarm.prompt import Block, Prompt
from swarm.repair import read_object

SIZES = OutageSettings()
MODELS = [Surrogate(name, profile) for name, profile in PROFILES.items()]


def ask(model: Surrogate, prompt: Prompt, seed: int) -> Reply:
    """The reply of a surrogate."""
    return asyncio.run(model.reply(prompt, seed))


def fields(reply: Reply) -> dict[str, str]:
    """The fields of a reply; none when it was careless beyond repair."""
    return read_object(reply.text).fields


def prompt_of(
    world: World,
    round: int,
    *history: Block,
    me: str = "Gil",
    listed: tuple[str, ...] = SIZES.names,
    queries_left: int = 1,
) -> Prompt:
    """A turn's prompt with `history` between the constant blocks and the state."""
    state = prompts.state(
        SIZES,
        round=round,
        queries_left=queries_left,
        filings_left=4,
        failing=", ".join(o.alerting for o in world.outages),
    )
    head = (prompts.alerts(world), prompts.changes(world), prompts.HISTORY)
    return Prompt(
        (prompts.identity(me), prompts.rules(SIZES, listed)),
        (*head, *history, prompts.NOW, state),
    )


def logged(log: Log, step: int = 23) -> list[tuple[tuple[str, int, int], Setting]]:
    """Every `step`-th turn of a log with its prompt."""
    turns = log.rows("SELECT room, round, seat FROM turns ORDER BY ALL")[::step]
    return sorted(settings_of(log, turns), key=lambda found: found[0])


def test_the_same_texts_in_other_blocks_give_the_same_reply(small_log: Log) -> None:
    for seed, (_, setting) in enumerate(logged(small_log)):
        system, turn = setting.prompt.texts
        whole = Prompt((Block("a", str(system)),), (Block("b", "".join(turn)),))
        for model in MODELS:
            assert ask(model, setting.prompt, seed) == ask(model, whole, seed)


def test_a_new_surrogate_of_the_profile_gives_the_same_reply(small_log: Log) -> None:
    for seed, (_, setting) in enumerate(logged(small_log, 61)):
        for model in MODELS:
            twin = Surrogate(model.name, PROFILES[model.name])
            first = ask(model, setting.prompt, seed)
            ask(model, setting.prompt, seed + 1)
            assert ask(twin, setting.prompt, seed) == ask(model, setting.prompt, seed) == first


_ELSEWHERE = """
import asyncio, json, sys
from scenarios.outage import OutageRoom
from swarm.prompt import Block, Prompt
told = []
for name, system, turn, seed in json.load(sys.stdin):
    prompt = Prompt((Block("", system),), (Block("", turn),))
    told.append(asyncio.run(OutageRoom().surrogate(name).reply(prompt, seed)).text)
json.dump(told, sys.stdout)
"""


def test_another_process_gives_the_same_reply(small_log: Log) -> None:
    asked = [
        (model.name, *setting.prompt.texts, 40 + k)
        for k, (_, setting) in enumerate(logged(small_log, 67))
        for model in MODELS
    ]
    here = [
        ask(Surrogate(name, PROFILES[name]), Prompt((Block("", s),), (Block("", t),)), seed).text
        for name, s, t, seed in asked
    ]
    there = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    ).stdout  # fmt: skip
    assert json.loads(there) == here


def test_a_logged_reply_comes_again_from_its_logged_prompt(small_log: Log) -> None:
    from swarm.streams import seed_of

    replies = {row[:3]: row[3:] for row in small_log.rows(
        "SELECT room, round, seat, reply, attempts FROM turns")}  # fmt: skip
    for (room, round, seat), setting in logged(small_log):
        text, attempts = replies[room, round, seat]
        seed = seed_of(setting.seed, "seat", seat, round, attempts - 1)
        model = Surrogate(setting.model, PROFILES[setting.model])
        assert ask(model, setting.prompt, seed).text == text


def test_another_seed_gives_another_reply(small_log: Log) -> None:
    (_, setting), *_ = logged(small_log)
    for model in MODELS:
        assert len({ask(model, setting.prompt, seed).text for seed in range(60)}) > 20


def test_a_prompt_of_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="not the outage room's"):
        ask(MODELS[0], Prompt((Block("", "You play chess."),), (Block("", "Move."),)), 1)


# A post is a cause.


PLANS = {
    "Gil: payments. Bo: search. Cy: auth.": "payments",
    "Proposal: Ada - cart, Bo - search, Gil - email, Hana - auth.": "email",
    "Gil, could you query shipping please? Bo, could you query cart?": "shipping",
}


def share_querying(model: Surrogate, prompt: Prompt, target: str, seeds: Iterable[int]) -> float:
    """How often a reply queries `target`."""
    asked = [fields(ask(model, prompt, seed)).get("query") == target for seed in seeds]
    return sum(asked) / len(asked)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("text", PLANS)
def test_without_the_post_that_asks_for_it_a_service_is_queried_less(
    model: Surrogate, text: str
) -> None:
    world, target, times = make_world(SIZES, 1), PLANS[text], 400
    post = prompts.post(1, "Dee", text)
    prompt = prompt_of(world, 2, prompts.post(1, "Eli", "Good luck, all."), post)
    a = share_querying(model, prompt, target, range(times))
    b = share_querying(model, prompt.without({post.id}), target, range(times, 2 * times))
    assert a - b > 4 * (0.25 * 2 / times) ** 0.5 * 0.8
    assert b > 0


def test_a_post_to_somebody_else_makes_its_service_rarer() -> None:
    world = make_world(SIZES, 1)
    post = prompts.post(1, "Dee", "Bo: payments. Cy: auth.")
    prompt = prompt_of(world, 2, post, me="Gil")
    a = sum(share_querying(model, prompt, "payments", range(300)) for model in MODELS)
    free = prompt.without({post.id})
    b = sum(share_querying(model, free, "payments", range(300)) for model in MODELS)
    assert a <= b


# What is not in the text cannot be known.


def filed_of_pairs(shown: bool) -> tuple[int, int]:
    """(causes, all) of the filings of roots in a last round, with the roots' cards or without."""
    causes = total = 0
    gemini = Surrogate("gemini-3.1-pro", PROFILES["gemini-3.1-pro"])
    for seed in range(1200):
        world = make_world(SIZES, seed)
        outage = world.outages[seed % 4]
        cards = [prompts.card(3, outage.alerting, prompts.points_to(outage.root))]
        if shown:
            finding = prompts.caused_by(outage.cause, outage.twin)
            cards.append(prompts.card(4, outage.root, finding))
        prompt = prompt_of(world, 8, *cards, queries_left=0)
        for again in range(2):
            change = fields(ask(gemini, prompt, 2 * seed + again)).get("file")
            total += change in (outage.cause, outage.twin)
            causes += change == outage.cause
    return causes, total


def test_without_the_card_a_surrogate_guesses_at_chance() -> None:
    causes, total = filed_of_pairs(shown=False)
    assert total > 150
    assert binomtest(causes, total).pvalue > 0.001


def test_with_the_card_it_files_the_cause() -> None:
    causes, total = filed_of_pairs(shown=True)
    assert total > 150
    assert causes == total


# Who plans depends on the list of names.


def planning(listed: tuple[str, ...]) -> dict[str, float]:
    """Share of round-1 replies that plan, by name."""
    rate = {}
    for me in SIZES.names:
        planned = asked = 0
        for model in MODELS:
            for seed in range(150):
                prompt = prompt_of(make_world(SIZES, seed % 20), 1, me=me, listed=listed)
                number = Random(f"{me} {model.name} {seed}").randrange(2**31)
                mates = {i.teammate for i in ask(model, prompt, number).intents}
                planned += len(mates) >= 2
                asked += 1
        rate[me] = planned / asked
    return rate


@pytest.mark.parametrize(
    "listed", [SIZES.names, SIZES.names[::-1], SIZES.names[3:] + SIZES.names[:3]]
)
def test_whoever_is_listed_first_plans_about_three_times_as_often(listed: tuple[str, ...]) -> None:
    rate = planning(listed)
    others = [rate[name] for name in listed[1:]]
    ratio = rate[listed[0]] / (sum(others) / 7)
    assert 2.3 < ratio < 3.9
    assert rate[listed[0]] > 1.5 * max(others)
