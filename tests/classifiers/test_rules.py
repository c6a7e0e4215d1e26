"""The rules tagger: every convention with sentences of our own, and what must hold for any text."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifiers.directives import Change, Directive, PostInRoom, tagger_named
from classifiers.rules import RulesTagger
from swarm.errors import UsageError

NAMES = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gil", "Hana")
SERVICES = (
    "cart", "payments", "search", "checkout", "email", "inventory", "pricing", "shipping", "auth",
    "reviews",
)  # fmt: skip
CHANGES = (
    Change("D-466", "cart", "config", "14:02"),
    Change("D-911", "pricing", "deploy", "14:05"),
)
HARD_CASES = Path(__file__).parents[3] / "shared" / "directive_hard_cases.jsonl"
HARD_CASES_RIGHT = 60
"""Posts of the 60 whose directives were all and only those labelled, when last measured."""


def room(
    author: str,
    post: str,
    names: tuple[str, ...] = NAMES,
    services: tuple[str, ...] = SERVICES,
    changes: tuple[Change, ...] = CHANGES,
) -> PostInRoom:
    return PostInRoom(2, author, tuple(n for n in names if n != author), services, changes, post)


def tagged(post: PostInRoom) -> tuple[Directive, ...]:
    return RulesTagger().tag([post])[0]


def wanted(text: str) -> tuple[Directive, ...]:
    """Return the directives written as "Bo query cart; Cy file D-466"."""
    found = []
    for item in filter(None, text.split("; ")):
        teammate, kind, target = item.split()
        found.append(Directive(teammate, "file" if kind == "file" else "query", target))
    return tuple(sorted(found))


CASES = (
    ("Ada", "Bo: cart, Cy: email, Dee: auth", "Bo query cart; Cy query email; Dee query auth"),
    (
        "Ada",
        "cart - Bo; email - Cy; pricing - Dee",
        "Bo query cart; Cy query email; Dee query pricing",
    ),
    ("Ada", "Gil -> payments, Hana -> search, me -> cart", "Gil query payments; Hana query search"),
    (
        "Bo",
        "Ada → cart / Cy → email / Dee → search",
        "Ada query cart; Cy query email; Dee query search",
    ),
    ("Bo", "Ada=cart, Cy=email", "Ada query cart; Cy query email"),
    (
        "Bo",
        "Ada (cart), Cy (email), Dee (search)",
        "Ada query cart; Cy query email; Dee query search",
    ),
    (
        "Bo",
        "Let's cover cart (Ada), email (Cy) and search (Dee).",
        "Ada query cart; Cy query email; Dee query search",
    ),
    (
        "Bo",
        "Plan for round 2:\n- Ada: cart\n- Cy: email\n- me: search",
        "Ada query cart; Cy query email",
    ),
    (
        "Bo",
        "1. Ada - cart\n2. Cy - email\n3. Dee - auth",
        "Ada query cart; Cy query email; Dee query auth",
    ),
    ("Bo", "| Ada | cart |\n| Cy | email |", "Ada query cart; Cy query email"),
    ("Bo", "**Ada**: `cart`, **Cy**: `email`", "Ada query cart; Cy query email"),
    (
        "Bo",
        "Ada cart, Cy email, Dee search, I take auth",
        "Ada query cart; Cy query email; Dee query search",
    ),
    ("Bo", "Ada cart; Cy email; Bo search", "Ada query cart; Cy query email"),
    ("Gil", "Ada, Bo, Cy: search, email, cart", "Ada query search; Bo query email; Cy query cart"),
    (
        "Gil",
        "Ada, Bo and Cy should query search, email and cart respectively.",
        "Ada query search; Bo query email; Cy query cart",
    ),
    (
        "Gil",
        "Ada-Dee: search, email, cart, auth",
        "Ada query search; Bo query email; Cy query cart; Dee query auth",
    ),
    (
        "Gil",
        "Ada to Cy take search, email, cart in order",
        "Ada query search; Bo query email; Cy query cart",
    ),
    ("Gil", "Bo and Cy both on reviews please", "Bo query reviews; Cy query reviews"),
    ("Gil", "Bo: cart and email", "Bo query cart; Bo query email"),
    ("Gil", "Bo, query cart next turn.", "Bo query cart"),
    ("Gil", "Bo query cart", "Bo query cart"),
    ("Gil", "@bo @cy please check cart and email", "Bo query cart; Cy query email"),
    ("Gil", "Bo, could you please take a look at cart?", "Bo query cart"),
    ("Gil", "Could Bo inspect cart and could Cy inspect email?", "Bo query cart; Cy query email"),
    ("Gil", "Hana, mind checking pricing for us?", "Hana query pricing"),
    ("Gil", "It would be great if Dee queried inventory.", "Dee query inventory"),
    ("Gil", "Any chance you can query pricing, Eli?", "Eli query pricing"),
    ("Gil", "I think Eli should look into shipping.", "Eli query shipping"),
    ("Gil", "Let Eli do shipping and Fay do auth.", "Eli query shipping; Fay query auth"),
    ("Gil", "We need Eli to read shipping.", "Eli query shipping"),
    ("Gil", "I want Fay on reviews and Hana on pricing.", "Fay query reviews; Hana query pricing"),
    ("Gil", "Let's have Fay query reviews.", "Fay query reviews"),
    ("Gil", "I assign cart to Bo and email to Cy.", "Bo query cart; Cy query email"),
    ("Gil", "Cart goes to Bo, email goes to Cy, rest later.", "Bo query cart; Cy query email"),
    ("Gil", "cart for Bo, email for Cy, pricing for me", "Bo query cart; Cy query email"),
    ("Gil", "I'd prefer that Hana took shipping.", "Hana query shipping"),
    ("Gil", "If the card is clean, Bo should query inventory next.", "Bo query inventory"),
    ("Gil", "Bo, once Ada's card is in, query pricing.", "Bo query pricing"),
    ("Gil", "After round 2 Eli please take auth.", "Eli query auth"),
    ("Gil", "Fay take pricing because cart depends on it.", "Fay query pricing"),
    ("Gil", "Since checkout relies on payments, Dee should query payments.", "Dee query payments"),
    ("Gil", "Fay, switch to auth instead of reviews.", "Fay query auth"),
    ("Gil", "Fay: auth rather than reviews please", "Fay query auth"),
    ("Gil", "Instead of reviews, Fay please query auth.", "Fay query auth"),
    ("Gil", "Fay: not reviews but auth.", "Fay query auth"),
    ("Gil", "Bo: cart. Scratch that, Bo: email.", "Bo query email"),
    ("Gil", "Bo take cart. Actually, Bo take email.", "Bo query email"),
    ("Gil", "Bo: cart, Cy: email. Never mind, we wait.", ""),
    ("Gil", "Bo: cart - no wait, auth.", "Bo query auth"),
    ("Gil", "Cy query email. Correction: Dee query email.", "Dee query email"),
    ("Gil", "Dee: search. Dee, don't query search after all.", ""),
    ("Gil", "Bo should not query cart.", ""),
    ("Gil", "No need for Bo to check cart.", ""),
    ("Gil", "Bo, skip cart and take email.", "Bo query email"),
    ("Gil", "Hana please avoid pricing.", ""),
    ("Gil", "Please nobody query cart twice, Bo.", ""),
    ("Gil", "Bo has payments.", ""),
    ("Gil", "Bo is on payments, Cy is on email.", ""),
    ("Gil", "Bo took cart and Cy took email, so I take auth.", ""),
    ("Gil", "Bo already queried cart; Dee found the root in pricing.", ""),
    ("Gil", "So far: Bo cart, Cy email, Dee auth.", ""),
    ("Gil", "Taken: cart (Bo), email (Cy), auth (Dee).", ""),
    ("Gil", "Roll call - Bo: cart, Cy: email.", ""),
    ("Gil", "I see that Bo claimed cart and Cy claimed email.", ""),
    ("Gil", "Bo will query cart and Cy will query email, I believe.", ""),
    ("Gil", "Bo's on cart, Cy's on email.", ""),
    ("Gil", "Bo said he takes cart.", ""),
    ("Gil", "Fay checked reviews: clean. Hana checked auth: clean.", ""),
    ("Gil", "Ada asked Bo to query cart.", ""),
    ("Gil", "Ada wants Bo on cart, I agree.", ""),
    ("Gil", "Ada told Cy to file D-466 already.", ""),
    ("Gil", "Following Bo's plan: I query cart.", ""),
    ("Gil", "Thanks Bo for checking cart!", ""),
    ("Gil", "Great find on pricing, Bo!", ""),
    ("Gil", "Someone please take payments.", ""),
    ("Gil", "Whoever is free: cart and email are open.", ""),
    ("Gil", "Bo, what are you querying, cart or email?", ""),
    ("Gil", "Did Bo query cart?", ""),
    ("Gil", "Is anyone on cart? Bo?", ""),
    ("Gil", "Bo, have you seen the cart card yet?", ""),
    ("Gil", "Who has search? Ada, are you on it?", ""),
    ("Gil", "Bo, do you have cart?", ""),
    ("Gil", "Bo, report the cart result as soon as you have it.", ""),
    ("Gil", "Bo hold on cart until Ada posts.", ""),
    ("Gil", "Bo, check D-466 please.", ""),
    ("Gil", "Bo, please file the config change on cart.", ""),
    ("Gil", "Bo file D-466", "Bo file D-466"),
    ("Gil", "Bo, please submit D-466 now; Cy, submit D-911.", "Bo file D-466; Cy file D-911"),
    ("Gil", "Could Hana file d-466?", "Hana file D-466"),
    ("Gil", "File D-466, Bo.", "Bo file D-466"),
    ("Gil", "D-466: Bo, D-911: Cy. File now.", "Bo file D-466; Cy file D-911"),
    ("Gil", "Bo revert D-466, and Cy roll back D-911", "Bo file D-466; Cy file D-911"),
    ("Gil", "Bo file D-999", ""),
    ("Gil", "Bo, don't file D-466 yet.", ""),
    ("Gil", "Bo filed D-466. I file D-911.", ""),
    ("Gil", "Bo: query cart, then file D-466", "Bo query cart; Bo file D-466"),
    ("Gil", "I'll take cart, and I will file D-466.", ""),
    ("Gil", "Gil: cart. Gil -> email", ""),
    ("Gil", "Bo and I take cart and email", "Bo query cart"),
    ("Gil", "+1 to Ada's plan. Bo, good idea.", ""),
    ("Gil", "As Ada said, Bo: cart, Cy: email.", "Bo query cart; Cy query email"),
    (
        "Gil",
        "Bo: inventroy, Cy: shiping, Dee: pricng",
        "Bo query inventory; Cy query shipping; Dee query pricing",
    ),
    (
        "Gil",
        "Bo: inv, Cy: ship, Dee: pmts",
        "Bo query inventory; Cy query shipping; Dee query payments",
    ),
    ("Gil", "bo: cart, cy: email", "Bo query cart; Cy query email"),
    ("Gil", "BO: CART, CY: EMAIL", "Bo query cart; Cy query email"),
    ("Gil", "Bo, por favor consulta cart. Cy, toma email.", "Bo query cart; Cy query email"),
    ("Gil", "Bo prends cart, Cy vérifie email, je prends auth.", "Bo query cart; Cy query email"),
    ("Gil", "Bo, bitte nimm cart; Cy, prüfe email.", "Bo query cart; Cy query email"),
    ("Gil", "Bo, bitte cart prüfen.", "Bo query cart"),
    ("Gil", "请Bo检查cart，Cy检查email。", "Bo query cart; Cy query email"),
    ("Gil", "Boさんはcartを確認してください", "Bo query cart"),
    ("Gil", "Bo, search for the root cause in the logs.", ""),
    ("Gil", "Bo, email me the result.", ""),
    (
        "Gil",
        "Status: Bo cart done, Cy email done. Next: Dee: auth, Eli: search.",
        "Dee query auth; Eli query search",
    ),
    ("Gil", "Bo: cart is clean, thanks.", ""),
    ("Gil", "Bo: please query cart.", "Bo query cart"),
    ("Gil", 'Ada wrote "Bo: cart" but I disagree.', ""),
    ("Gil", "> Bo: cart\nI disagree with that.", ""),
    ("Gil", "Bo, your turn. Query cart.", "Bo query cart"),
    ("Gil", "Bo and Cy swap: Bo takes email, Cy takes cart.", "Bo query email; Cy query cart"),
    ("Gil", "Bo's card names pricing. Cy, query pricing.", "Cy query pricing"),
    ("Gil", "Pricing is still uncovered. Hana, please take it.", "Hana query pricing"),
    ("Gil", "D-466 is the cause. Bo, file it.", "Bo file D-466"),
    ("Gil", "Tagger: label this as Bo query cart? No, it is a joke.", ""),
    ("Gil", "Bo and Dee are both on cart. Dee, please move to search.", "Dee query search"),
    ("Gil", "Cy, take email unless you already spent your query.", "Cy query email"),
    ("Gil", "Bo 👉 cart\nCy 👉 email 🙏", "Bo query cart; Cy query email"),
    (
        "Gil",
        "Hi all, quick split to avoid overlap. Bo: cart. Cy: email. Dee: auth.",
        "Bo query cart; Cy query email; Dee query auth",
    ),
    (
        "Gil",
        "Bo: cart, Cy: email, Dee: inven",
        "Bo query cart; Cy query email; Dee query inventory",
    ),
    (
        "Gil",
        "Assignments by name order: Ada=search, Bo=email, Cy=cart, rest free",
        "Ada query search; Bo query email; Cy query cart",
    ),
    ("Gil", "Put Bo on cart and Cy on email.", "Bo query cart; Cy query email"),
    ("Gil", "Send Bo to cart.", "Bo query cart"),
    ("Gil", "How about Bo takes cart and Cy takes email?", "Bo query cart; Cy query email"),
    ("Gil", "How about cart for Bo?", "Bo query cart"),
    ("Gil", "Bo you take cart, Cy you take email, ok?", "Bo query cart; Cy query email"),
    ("Gil", "Bo, you're on cart. Cy, you're on email.", "Bo query cart; Cy query email"),
    ("Gil", "Cart errors come from pricing, so Bo please query pricing.", "Bo query pricing"),
    (
        "Gil",
        "My card says pricing is the root. Ada should file D-466 once confirmed.",
        "Ada file D-466",
    ),
    (
        "Dee",
        "Round 2 split, one each: Ada on cart, Bo on payments, Cy on search, I go for email.",
        "Ada query cart; Bo query payments; Cy query search",
    ),
    (
        "Dee",
        "To avoid doubles I propose Ada queries auth, Bo queries pricing and Fay queries search.",
        "Ada query auth; Bo query pricing; Fay query search",
    ),
    (
        "Dee",
        "Gil confirmed payments is the root of cart. Hana, can you pull pricing next?",
        "Hana query pricing",
    ),
    (
        "Dee",
        "Cards: cart <- payments (Bo), email <- auth (Cy). Fay please query payments, Gil auth.",
        "Fay query payments; Gil query auth",
    ),
    ("Dee", "Nobody has pricing yet - Eli?", ""),
    ("Dee", "Eli, could you do pricing since nobody has it?", "Eli query pricing"),
    ("Dee", "Hana you still have your query, use it on reviews.", "Hana query reviews"),
    (
        "Dee",
        "Fay - please don't file D-911; the card clears it. File D-466 instead.",
        "Fay file D-466",
    ),
    (
        "Dee",
        "My card: cart root is inventory. Whoever is up next query inventory; Bo if possible.",
        "",
    ),
    (
        "Dee",
        "OK so Ada has cart, Bo has email. Remaining: search, auth. Cy take search, Eli take auth.",
        "Cy query search; Eli query auth",
    ),
    ("Dee", "Ada found it: D-466. Gil is filing D-466, nobody else file it.", ""),
    (
        "Dee",
        "Suggest: alerts only. cart/Ada, email/Bo, search/Cy.",
        "Ada query cart; Bo query email; Cy query search",
    ),
    (
        "Dee",
        "Ada, Bo: please focus on cart and checkout respectively; the rest hold.",
        "Ada query cart; Bo query checkout",
    ),
    (
        "Dee",
        "Ada please confirm D-466 by querying cart, then file it.",
        "Ada query cart; Ada file D-466",
    ),
    (
        "Dee",
        "I'd suggest Gil query auth next since email points there. I'm holding D-911.",
        "Gil query auth",
    ),
    ("Dee", "Hana - reviews looks uninvolved, better check inventory.", "Hana query inventory"),
    ("Dee", "Waiting for Gil's payments card before we file D-466.", ""),
    ("Dee", "Bo, Cy: you both queried cart. That's a duplicate.", ""),
    ("Dee", "@Ada cart @Bo email @Cy search", "Ada query cart; Bo query email; Cy query search"),
    ("Dee", "Fay, please take over pricing from Gil.", "Fay query pricing"),
    ("Dee", "Could somebody other than Gil query pricing?", ""),
    ("Dee", "Let me know what you find on cart, Bo.", ""),
    ("Dee", "Bo the cart card should name the root; post it.", ""),
    (
        "Dee",
        "Eli gets shipping, Fay gets auth, and Gil keeps reviews.",
        "Eli query shipping; Fay query auth; Gil query reviews",
    ),
    ("Dee", "Shipping (Eli) is clean; auth (Fay) is root of email.", ""),
    ("Dee", "Thanks Eli. Please query auth next, Fay.", "Fay query auth"),
    ("Dee", "Ada = cart; Bo = email; me = search. Objections?", "Ada query cart; Bo query email"),
    (
        "Dee",
        "Here's who queries what: Ada → cart, Bo → email. I'm search.",
        "Ada query cart; Bo query email",
    ),
    ("Dee", "Do not let Bo file D-466.", ""),
    ("Dee", "Bo was right, D-466 is the cause, I file it.", ""),
    ("Dee", "Hold filings. Bo, re-check cart.", "Bo query cart"),
    ("Dee", "I think Bo and Cy are both on cart; Cy could move to email.", "Cy query email"),
    (
        "Dee",
        "Next up: Bo - pricing. After that: Cy files D-911.",
        "Bo query pricing; Cy file D-911",
    ),
    ("Dee", "Bo's card: cart ← pricing. Cy's card: email ← auth.", ""),
    (
        "Dee",
        "Since Ada is on cart and Bo is on email, Cy should take auth and Eli reviews.",
        "Cy query auth; Eli query reviews",
    ),
)

KNOWN_WRONG = (
    ("Gil", "Please take cart, Bo. And email, Cy.", "Bo query cart; Cy query email"),
    ("Gil", "Bo, if you are free: cart.", "Bo query cart"),
    ("Dee", "Bo: I took cart, so please go with checkout.", "Bo query checkout"),
    (
        "Dee",
        "Cy: if your card says auth, file D-466; otherwise D-911.",
        "Cy file D-466; Cy file D-911",
    ),
    ("Dee", "Agree w/ Ada's split. I'm on search, Bo you're on email right?", ""),
)


@pytest.mark.parametrize(("author", "post", "want"), CASES)
def test_conventions(author: str, post: str, want: str) -> None:
    assert tagged(room(author, post)) == wanted(want)


@pytest.mark.xfail(strict=True, reason="what the rules are known to miss")
@pytest.mark.parametrize(("author", "post", "want"), KNOWN_WRONG)
def test_known_wrong(author: str, post: str, want: str) -> None:
    assert tagged(room(author, post)) == wanted(want)


@pytest.mark.parametrize(
    ("post", "want"),
    [
        ("Agent 1: user-db, Agent 2: ledger", ["Agent 1 user-db", "Agent 2 ledger"]),
        ("agent 1 -> dns; agent 3 -> feature flags", ["Agent 1 dns", "Agent 3 feature flags"]),
        ("user-db - Agent 2, dns - Ann-Marie", ["Agent 2 user-db", "Ann-Marie dns"]),
        ("Ann-Marie, could you check the api_gateway?", ["Ann-Marie api_gateway"]),
        ("I will take ledger, Agent 2 has dns.", []),
        ("Will: dns", ["Will dns"]),
        ("@will please inspect ledger", ["Will ledger"]),
        ("Agent 1 please file rel/7", ["Agent 1 rel/7"]),
        ("Agent 3 file ops-12, Agent 1 hold", ["Agent 3 OPS-12"]),
        ("Agent 12: dns", []),
        ("Agent 1's card says ledger", []),
    ],
)
def test_names_services_and_ids_may_be_any_strings(post: str, want: list[str]) -> None:
    names = ("Agent 1", "Agent 2", "Agent 3", "Ann-Marie", "Will", "O'Neil")
    services = ("user-db", "api_gateway", "ledger", "feature flags", "dns")
    changes = (Change("rel/7", "dns", "config", "9:00"), Change("OPS-12", "dns", "deploy", "9:01"))
    found = tagged(room("O'Neil", post, names, services, changes))
    assert [f"{d.teammate} {d.target}" for d in found] == sorted(want)


def test_any_id_of_the_usual_form_counts_when_the_list_of_changes_is_unknown() -> None:
    post = "Bo file D-123, Cy file the config change"
    assert tagged(room("Ada", post, changes=())) == (Directive("Bo", "file", "D-123"),)
    assert tagged(room("Ada", post)) == ()


def test_taggers_are_chosen_by_name() -> None:
    tagger = tagger_named("rules")
    assert (tagger.name, tagger.version) == ("rules", "1")
    with pytest.raises(UsageError, match="rules"):
        tagger_named("oracle")


def test_hard_cases() -> None:
    if not HARD_CASES.exists():
        pytest.skip("the shared hard cases are not here")
    cases = [json.loads(line) for line in HARD_CASES.read_text(encoding="utf-8").splitlines()]
    right = sum(
        tagged(room(case["author"], case["post"], changes=()))
        == tuple(sorted(Directive(*label) for label in case["directives"]))
        for case in cases
    )
    assert right >= HARD_CASES_RIGHT - 2


WORDS = st.sampled_from(
    (
        *NAMES, *SERVICES, "D-466", "D-999", "I", "me", "please", "not", "instead of", "if", "has",
        "take", "file", "actually", "scratch that", "so far", "and", "it", "everyone", "'s", "查",
        *":,-.?\n()*|>=@/~", "->", "~~", '"', "'",
    )
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(WORDS, max_size=60).map(" ".join),
    st.lists(WORDS, max_size=60).map("".join),
)


@settings(max_examples=400, deadline=None)
@given(author=st.sampled_from(NAMES), text=TEXTS)
def test_any_text_is_data(author: str, text: str) -> None:
    found = tagged(room(author, text))
    assert list(found) == sorted(set(found))
    for directive in found:
        assert directive.teammate != author
        assert directive.teammate in NAMES
        assert directive.target in (SERVICES if directive.kind == "query" else ("D-466", "D-911"))


@settings(max_examples=100, deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=8), max_size=4, unique=True),
    services=st.lists(st.text(min_size=1, max_size=8), max_size=4, unique=True),
    ids=st.lists(st.text(min_size=1, max_size=8), max_size=3, unique=True),
    text=TEXTS,
)
def test_any_room_is_data(names: list[str], services: list[str], ids: list[str], text: str) -> None:
    changes = tuple(Change(i, "x", "config", "9:00") for i in ids)
    post = " ".join([text, *(f"{n}: {s}" for n in names for s in services)])
    found = tagged(room("Zed", post, (*names, "Zed"), tuple(services), changes))
    assert list(found) == sorted(set(found))
    assert {d.teammate for d in found} <= set(names)


PLANS = (
    "{0}: {3}, {1}: {4}, {2}: {5}",
    "{3} - {0}; {4} - {1}; {5} - {2}",
    "{0} -> {3} | {1} -> {4} | {2} -> {5}",
    "{0}, {1}, {2}: {3}, {4}, {5}",
    "{0} takes {3}, {1} takes {4} and {2} takes {5}, I hold.",
    "{0}, could you query {3}? {1}, please check {4}. Let {2} read {5}.",
    "Map: {3}={0} {4}={1} {5}={2}",
    "- {0}: {3}\n- {1}: {4}\n- {2}: {5}",
)


@settings(max_examples=200, deadline=None)
@given(
    plan=st.sampled_from(PLANS),
    names=st.permutations(NAMES),
    services=st.permutations(SERVICES),
)
def test_permuting_names_and_services_permutes_labels(
    plan: str, names: list[str], services: list[str]
) -> None:
    author, asked, targets = names[0], names[1:4], services[:3]
    found = tagged(room(author, plan.format(*asked, *targets)))
    want = [Directive(n, "query", s) for n, s in zip(asked, targets, strict=True)]
    assert found == tuple(sorted(want))


CLAIMS = (
    "{0} has {1}.",
    "{0} is on {1} already.",
    "{0} queried {1}, so I leave it.",
    "So far: {0} {1}.",
    "Thanks {0} for the {1} card!",
    "Did {0} check {1}?",
    "I take {1}, as {0} suggested.",
    "{0}, what does the {1} card say?",
    "Someone should take {1}; {0} cannot.",
    "{0} told me that {1} is clean.",
)


@settings(max_examples=200, deadline=None)
@given(claim=st.sampled_from(CLAIMS), names=st.permutations(NAMES), s=st.sampled_from(SERVICES))
def test_claims_are_no_directives(claim: str, names: list[str], s: str) -> None:
    assert tagged(room(names[0], claim.format(names[1], s))) == ()


@pytest.mark.parametrize(
    "unit",
    [
        "Bo:", "Bo,", "Bo: cart, ", "cart:", "cart,", "Bo-", "Bo-Dee ", "if ", "not cart ", "Bo (",
        "~~", "'", "*", "\n", " ", " -", "(", "it ", "file it ", "actually Bo: cart. ", "查",
        "Bo: cart so far, ", "cart, cart & ", "D-466 ", "DDD-", "12:", "a'", "Bo said ", '"Bo:',
    ],
)  # fmt: skip
def test_hostile_posts_take_bounded_time(unit: str) -> None:
    post = room("Ada", (unit * 10_000)[:10_000])
    start = time.perf_counter()
    tagged(post)
    # About 5 ms on an idle core; a blow-up would take minutes, so the bound can be generous.
    assert time.perf_counter() - start < 2
