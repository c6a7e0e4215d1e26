"""How surrogates read posts: their own wording, LLM-like posts, and anything at all."""

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.outage import wording
from scenarios.outage.reading import PostReading, read_post

NAMES = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gil", "Hana")
SERVICES = (
    "cart",
    "payments",
    "search",
    "checkout",
    "email",
    "inventory",
    "pricing",
    "shipping",
    "auth",
    "reviews",
)
REASONS = (
    None,
    "my card confirms it",
    "nobody has it yet",
    "auth errors come from it",
    "the deploys prove nothing",
    "its card is missing",
)
FLOOR = 0.97


@dataclass
class Case:
    """A post, who wrote it, what must be read in it, and what may be read besides."""

    post: str
    author: str
    wanted: dict[str, Any]
    allowed: dict[str, set[Any]]

    def read_right(self) -> bool:
        reading = read_post(self.post, self.author, NAMES, SERVICES)
        wanted = {
            field: set() for field in ("asks", "claims", "roots", "causes", "clean", "filed")
        } | self.wanted
        for field, value in wanted.items():
            found = getattr(reading, field)
            if isinstance(value, set):
                spare = set(found) - value - self.allowed.get(field, set())
                if spare or not value <= set(found):
                    return False
            elif found != value:
                return False
        return reading.covers == len({name for name, _, _ in reading.asks})


class Writer:
    """Draws a post of an intent in a voice, with names, services and ids at random."""

    def __init__(self, voice: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.voice = voice

    def case(self, intent: str) -> Case:
        rng = self.rng
        self.names = rng.sample(NAMES, len(NAMES))
        self.services = rng.sample(SERVICES, len(SERVICES))
        self.change = f"{rng.choice(['D', 'CH', 'C'])}-{rng.randrange(10, 5000)}"
        write: Callable[[], tuple[str, dict[str, Any], dict[str, set[Any]]]]
        write = getattr(self, intent)
        post, wanted, allowed = write()
        return Case(post, self.names[0], wanted, allowed)

    def plan(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        me, own = self.names[0], self.rng.choice([None, self.services[9]])
        pairs = list(zip(self.names[1:], self.services, strict=False))[: self.rng.randint(2, 7)]
        wanted = {
            "asks": {(name, "query", service) for name, service in pairs},
            "claims": {(me, own)} if own else set(),
            "tentative": self.voice == "tentative",
            "covers": len(pairs),
        }
        return wording.plan(self.rng, self.voice, me, pairs, own), wanted, {}

    def order_query(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        mate, service, why = self.names[1], self.services[0], self.rng.choice(REASONS)
        wanted = {
            "asks": {(mate, "query", service)},
            "tentative": self.voice == "tentative",
            "reasoned": why is not None,
        }
        return wording.order(self.rng, self.voice, mate, "query", service, why), wanted, {}

    def order_file(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        mate, why = self.names[1], self.rng.choice(REASONS)
        wanted = {
            "asks": {(mate, "file", self.change)},
            "tentative": self.voice == "tentative",
            "reasoned": why is not None,
        }
        allowed: dict[str, set[Any]] = {"causes": {("auth", self.change)}}
        return wording.order(self.rng, self.voice, mate, "file", self.change, why), wanted, allowed

    def claim(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.claim(self.rng, self.voice, self.services[0])
        return post, {"claims": {(self.names[0], self.services[0])}}, {}

    def took(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.took(self.rng, self.voice, self.services[0])
        return post, {"claims": {(self.names[0], self.services[0])}}, {}

    def finding_alert(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        alerting, root = self.services[:2]
        post = wording.finding_alert(self.rng, self.voice, alerting, root)
        return post, {"roots": {(alerting, root)}}, self._own_card()

    def finding_root(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.finding_root(self.rng, self.voice, self.services[0], self.change)
        return post, {"causes": {(self.services[0], self.change)}}, self._own_card()

    def finding_clean(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.finding_clean(self.rng, self.voice, self.services[0])
        return post, {"clean": {self.services[0]}}, self._own_card()

    def filing(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.filing(self.rng, self.voice, self.change, self.services[0])
        return post, {"filed": {self.change}}, {"causes": {(self.services[0], self.change)}}

    def follow(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        post = wording.follow(self.rng, self.voice, self.names[1], self.services[0])
        return post, {"claims": {(self.names[0], self.services[0])}}, {}

    def chat(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        return wording.chat(self.rng, self.voice), {}, {}

    def roll_call(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        pairs = list(zip(self.names[1:], self.services, strict=False))[: self.rng.randint(1, 7)]
        return wording.roll_call(self.rng, self.voice, pairs), {"claims": set(pairs)}, {}

    def open_request(self) -> tuple[str, dict[str, Any], dict[str, set[Any]]]:
        services = self.services[: self.rng.randint(1, 4)]
        return wording.open_request(self.rng, self.voice, services), {}, {}

    def _own_card(self) -> dict[str, set[Any]]:
        """Who reports a service's card has queried it."""
        return {"claims": {(self.names[0], self.services[0])}}


INTENTS = [name for name in vars(Writer) if not name.startswith("_") and name != "case"]


@pytest.mark.parametrize("voice", wording.VOICES)
@pytest.mark.parametrize("intent", INTENTS)
def test_what_is_written_is_read(intent: str, voice: str) -> None:
    writer = Writer(voice, seed=11)
    cases = [writer.case(intent) for _ in range(300)]
    wrong = [case for case in cases if not case.read_right()]
    assert len(wrong) <= (1 - FLOOR) * len(cases), wrong[:3]


@pytest.mark.parametrize("voice", wording.VOICES)
def test_two_intents_in_one_post_are_both_read(voice: str) -> None:
    rng, right, tries = random.Random(12), 0, 600
    for _ in range(tries):
        me, mate = rng.sample(NAMES, 2)
        services = rng.sample(SERVICES, 4)
        parts = [
            wording.finding_root(rng, voice, services[0], "D-466"),
            wording.order(rng, voice, mate, "query", services[1]),
            wording.took(rng, voice, services[2]),
        ]
        rng.shuffle(parts)
        reading = read_post(" ".join(parts), me, NAMES, SERVICES)
        right += (
            reading.causes == ((services[0], "D-466"),)
            and reading.asks == ((mate, "query", services[1]),)
            and (me, services[2]) in reading.claims
            and not reading.filed
        )
    assert right >= FLOOR * tries


def renamed_text(post: str, new: dict[str, str]) -> str:
    words = re.compile(r"\b(?:" + "|".join(new) + r")\b", re.IGNORECASE)
    return words.sub(lambda match: new.get(match[0], new.get(match[0].lower(), "")), post)


@pytest.mark.parametrize("intent", INTENTS)
def test_renaming_the_room_renames_the_reading(intent: str) -> None:
    rng = random.Random(13)
    for voice in wording.VOICES:
        writer = Writer(voice, seed=14)
        for _ in range(60):
            case = writer.case(intent)
            # New names of several words, with dots and hyphens: "web-cart", "Dr. Ada".
            prefix, lead = rng.choice([("", ""), ("web-", "Dr. ")])
            new = dict(zip(NAMES, (lead + name for name in rng.sample(NAMES, 8)), strict=True))
            new |= dict(
                zip(SERVICES, (prefix + name for name in rng.sample(SERVICES, 10)), strict=True)
            )
            post = renamed_text(case.post, new)
            renamed = read_post(
                post,
                new[case.author],
                tuple(new[name] for name in NAMES),
                tuple(new[service] for service in SERVICES),
            )
            plain = read_post(case.post, case.author, NAMES, SERVICES)
            for field in fields(PostReading):
                value = getattr(plain, field.name)
                if isinstance(value, tuple):
                    value = tuple(
                        new.get(item, item)
                        if isinstance(item, str)
                        else tuple(new.get(part, part) for part in item)
                        for item in value
                    )
                assert getattr(renamed, field.name) == value, (field.name, post)


def asks(post: str, author: str = "Fay") -> set[tuple[str, str, str]]:
    return set(read_post(post, author, NAMES, SERVICES).asks)


def test_the_published_plan() -> None:
    post = (
        "Hi everyone. Queries open next round. Let's split the services.\n"
        "Ada: pricing, Bo: payments, Cy: cart, Dee: checkout, Eli: inventory, "
        "Fay (me): shipping, Gil: search, Hana: reviews.\nReport findings!"
    )
    reading = read_post(post, "Fay", NAMES, SERVICES)
    assert reading.covers == 7
    assert ("Bo", "query", "payments") in reading.asks
    assert reading.claims == (("Fay", "shipping"),)


@pytest.mark.parametrize(
    ("post", "expected"),
    [
        ("Gil: payments", {("Gil", "query", "payments")}),
        ("Need Dee on inventory and Gil on pricing in round 2.",
         {("Dee", "query", "inventory"), ("Gil", "query", "pricing")}),
        ("Gil, take payments and shipping.",
         {("Gil", "query", "payments"), ("Gil", "query", "shipping")}),
        ("R2 map: cart=Bo email=Cy pricing=Hana shipping=me",
         {("Bo", "query", "cart"), ("Cy", "query", "email"), ("Hana", "query", "pricing")}),
        ("Dee and Eli take auth and reviews respectively.",
         {("Dee", "query", "auth"), ("Eli", "query", "reviews")}),
        ("**Bo**: cart\n**Cy**: email", {("Bo", "query", "cart"), ("Cy", "query", "email")}),
        ("Hana roll back D-911, Gil revert D-189.",
         {("Hana", "file", "D-911"), ("Gil", "file", "D-189")}),
        ("Dee file D-466 not D-828.", {("Dee", "file", "D-466")}),
        ("Someone take payments", set()),
        ("Gil has payments", set()),
        ("Gil's on payments, thanks Gil!", set()),
        ("Bo don't query cart.", set()),
        ("I told Bo to query cart last round but he picked auth.", set()),
        ("Agree with Bo: cart first is sensible.", set()),
        ("Fay: shipping. Everyone else pick one alerting service.", set()),
    ],
)  # fmt: skip
def test_directives_of_others(post: str, expected: set[tuple[str, str, str]]) -> None:
    assert asks(post) == expected


def test_an_llm_like_follower() -> None:
    post = (
        "Shipping looks oversubscribed, so I'm querying cart to confirm D-466, per Fay's "
        "assignment. I'll post evidence; please keep pricing=Gil, payments=Bo, and avoid "
        "duplicate shipping queries."
    )
    reading = read_post(post, "Cy", NAMES, SERVICES)
    assert reading.claims == (("Cy", "cart"),)
    assert set(reading.asks) == {("Gil", "query", "pricing"), ("Bo", "query", "payments")}
    assert not reading.causes


def test_an_llm_like_finding() -> None:
    post = (
        "Inventory card confirms D-311 (config) is the cause; D-312 is not. Filing D-311 now. "
        "cart card: errors are upstream from inventory."
    )
    reading = read_post(post, "Cy", NAMES, SERVICES)
    assert reading.causes == (("inventory", "D-311"),)
    assert reading.filed == ("D-311",)
    assert reading.roots == (("cart", "inventory"),)


def test_matching_times_are_no_causes() -> None:
    post = "Timing matches deploys: shipping→D-828, payments→D-189. I take shipping."
    reading = read_post(post, "Cy", NAMES, SERVICES)
    assert reading == PostReading(claims=(("Cy", "shipping"),))


PIECES = [*NAMES, *SERVICES, "D-466", "D-1", "I", "me", "card", "root of", "cause", "take", "file"]
PIECES += ["nothing", "so far", "as", "'s", ":", "→", "-", ",", "\n", "1.", "(", "and", "?", "’"]


@settings(max_examples=300, deadline=None)
@given(
    post=st.one_of(
        st.text(max_size=700), st.lists(st.sampled_from(PIECES), max_size=90).map(" ".join)
    ),
    author=st.one_of(st.sampled_from(NAMES), st.text(max_size=5)),
    names=st.one_of(st.just(NAMES), st.lists(st.text(max_size=6), max_size=4).map(tuple)),
    services=st.one_of(st.just(SERVICES), st.lists(st.text(max_size=6), max_size=4).map(tuple)),
)
def test_any_text_is_read(
    post: str, author: str, names: tuple[str, ...], services: tuple[str, ...]
) -> None:
    reading = read_post(post, author, names, services)
    for name, kind, target in reading.asks:
        assert name in names
        assert name != author
        assert target in services if kind == "query" else re.fullmatch(r"[A-Z]{1,3}-\d+", target)
    for who, service in reading.claims:
        assert who == author or who in names
        assert service in services
    assert reading.covers == len({name for name, _, _ in reading.asks})
    read_post.cache_clear()
    assert read_post(post, author, names, services) == reading


@pytest.mark.parametrize(
    "piece",
    ["Bo ", "Bo, ", "cart, ", "Bo and ", "I ", "1) ", "\n", "so ", "Bo cart ", "D-466 ", "("],
)
def test_hostile_text_takes_bounded_time(piece: str) -> None:
    post = piece * 20_000 + " 1. 1)"
    started = time.perf_counter()
    read_post(post, "Fay", NAMES, SERVICES)
    assert time.perf_counter() - started < 0.1
