"""What surrogates write: enough different forms, short enough, and true to what is meant."""

import random
import re
from collections.abc import Callable, Sequence

import pytest

from scenarios.outage import wording

NAMES = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gil", "Hana")
SERVICES = (
    "cart payments search checkout email inventory pricing shipping auth reviews".split()  # noqa: SIM905
)
ME, MATE, LONG = "Hana", "Fay", "inventory"
TEAM = list(zip(NAMES, SERVICES, strict=False))
Writer = Callable[[random.Random, str], str]
WRITERS: dict[str, Writer] = {
    "plan": lambda rng, voice: wording.plan(
        rng, voice, ME, TEAM[: rng.randint(2, 7)], rng.choice([None, LONG])
    ),
    "order_query": lambda rng, voice: wording.order(rng, voice, MATE, "query", LONG, None),
    "order_file": lambda rng, voice: wording.order(rng, voice, MATE, "file", "D-466", None),
    "claim": lambda rng, voice: wording.claim(rng, voice, LONG),
    "took": lambda rng, voice: wording.took(rng, voice, LONG),
    "finding_alert": lambda rng, voice: wording.finding_alert(rng, voice, LONG, "auth"),
    "finding_root": lambda rng, voice: wording.finding_root(rng, voice, LONG, "D-466"),
    "finding_clean": lambda rng, voice: wording.finding_clean(rng, voice, LONG),
    "filing": lambda rng, voice: wording.filing(rng, voice, "D-466", LONG),
    "follow": lambda rng, voice: wording.follow(rng, voice, MATE, LONG),
    "chat": wording.chat,
    "roll_call": lambda rng, voice: wording.roll_call(rng, voice, TEAM[: rng.randint(1, 7)]),
    "open_request": lambda rng, voice: wording.open_request(
        rng, voice, SERVICES[: rng.randint(1, 4)]
    ),
}


def masked(post: str) -> str:
    """Returns the post with names, services and ids masked and repeated entries as one."""
    post = re.sub("|".join(NAMES), "N", post)
    post = re.sub("|".join(SERVICES), "S", post, flags=re.IGNORECASE)
    post = re.sub(r"D-\d+", "C", post)
    return re.sub(r"(.{3,}?)\1+", r"\1", post)


def posts(writer: Writer, voice: str, count: int = 300) -> list[str]:
    rng = random.Random(7)
    return [writer(rng, voice) for _ in range(count)]


@pytest.mark.parametrize("intent", WRITERS)
def test_every_intent_has_a_dozen_forms_and_every_voice_its_own(intent: str) -> None:
    forms = {
        voice: {masked(post) for post in posts(WRITERS[intent], voice)} for voice in wording.VOICES
    }
    assert len(set().union(*forms.values())) >= 12
    for voice, own in forms.items():
        others = set().union(*(forms[other] for other in forms if other != voice))
        assert len(own) >= 5
        assert len(own - others) >= 4


@pytest.mark.parametrize("voice", wording.VOICES)
@pytest.mark.parametrize("intent", WRITERS)
def test_every_post_fits_the_rules(intent: str, voice: str) -> None:
    for post in posts(WRITERS[intent], voice):
        assert 0 < len(post) <= 280
        assert not re.search(r"[{}]|\bNone\b|  |\.\.", post), post


@pytest.mark.parametrize("voice", wording.VOICES)
def test_no_plan_of_the_whole_team_loses_an_assignment(voice: str) -> None:
    rng = random.Random(3)
    services = sorted(SERVICES, key=len)[2:]  # the longest ones
    for _ in range(400):
        post = wording.plan(
            rng, voice, "Ada", list(zip(NAMES[1:], services[:7], strict=True)), services[7]
        )
        assert len(post) <= 280
        for name, service in zip(NAMES[1:], services[:7], strict=True):
            assert name in post
            assert service in post.lower()


@pytest.mark.parametrize("voice", wording.VOICES)
def test_a_plan_is_shortened_by_whole_assignments(voice: str) -> None:
    rng = random.Random(4)
    bare = len(", ".join(f"{name}: {service}" for name, service in TEAM[:7]))
    for limit in range(281):
        post = wording.plan(rng, voice, ME, TEAM[:7], "reviews", limit)
        assert len(post) <= limit
        given = [(name, service) for name, service in TEAM[:7] if name in post]
        assert given == TEAM[: len(given)]
        assert all(service in post.lower() for _, service in given)
        assert limit < bare or len(given) == 7


@pytest.mark.parametrize("intent", ["claim", "took", "finding_alert", "finding_root"])
def test_no_teammate_is_named_where_none_is_meant(intent: str) -> None:
    for voice in wording.VOICES:
        for post in posts(WRITERS[intent], voice):
            assert not re.search(rf"\b(?:{'|'.join(NAMES)})\b", post)


def test_chat_names_nothing() -> None:
    for voice in wording.VOICES:
        for post in posts(wording.chat, voice):
            assert not re.search("|".join([*NAMES, *SERVICES, r"D-\d"]), post)


@pytest.mark.parametrize("kind", ["query", "file"])
def test_an_order_gives_its_reason(kind: str) -> None:
    rng = random.Random(5)
    for voice in wording.VOICES:
        for _ in range(100):
            assert "nobody has it" in wording.order(
                rng,
                voice,
                MATE,
                "query" if kind == "query" else "file",
                "D-466",
                "nobody has it",
            )


@pytest.mark.parametrize("intent", WRITERS)
def test_the_same_random_state_gives_the_same_post(intent: str) -> None:
    for voice in wording.VOICES:
        assert posts(WRITERS[intent], voice, 20) == posts(WRITERS[intent], voice, 20)


def test_names_and_services_may_be_any_strings() -> None:
    odd: Sequence[tuple[str, str]] = [("{0}", "{s} %d"), ("Anne Marie", "web-search"), ("Zoë", "{")]
    rng = random.Random(6)
    for voice in wording.VOICES:
        for _ in range(100):
            post = wording.plan(rng, voice, "{me}", odd, "{x")
            assert all(name in post and service.lower() in post.lower() for name, service in odd)
            assert "{s} %d" in wording.order(rng, voice, "{n}", "query", "{s} %d", "{w}")
            assert "{s}" in wording.finding_clean(rng, voice, "{s}")
