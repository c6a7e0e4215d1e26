"""How a surrogate decides its turn.

What to query: it starts from weights over services (failing ones, roots it has heard of, what it
said it would take; much less for what others took). Then, with a probability that depends on its
own profile and on how the request is worded, it does what a teammate asked instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from scenarios.outage import wording
from scenarios.outage.profiles import FIRST_PLANS, Profile
from scenarios.outage.view import View
from swarm.models.base import Intent

# Weights of a service before anybody asks for it.
_FAILING, _OTHER = 1.0, 0.04
_HEARD_ROOT = 5.0
_MY_NOTE, _MY_WORD = 3.0, 25.0  # noted for myself; said in public
_TAKEN, _KNOWN = 0.002, 0.002
_WAITS, _HOLDS_BACK = 0.2, 0.5  # keeps its query: knows no root; leaves a known one to others
_SHARES_OUT = 0.6  # asks all who still have a query at once, rather than one of them

# How the wording of a request changes the probability of doing it.
_HEDGED, _ARGUED, _WHOLE_TEAM = 0.35, 1.6, 1.1
_ALREADY_TAKEN = 0.15
_AGAINST_MY_WORD = 0.05  # I have publicly taken something else


@dataclass(slots=True)
class Answer:
    """A turn in the making; `reasoning` is what an LLM would have thought aloud."""

    longest: int  # characters of a post; 0 when there is no channel
    note: list[str] = field(default_factory=list)
    post: list[str] = field(default_factory=list)
    query: str = ""
    file: str = ""
    reasoning: str | None = None
    intents: list[Intent] = field(default_factory=list)

    def say(self, text: str, *intents: Intent) -> bool:
        """Add a sentence to the post if it still fits; the intents count only then."""
        if not text or len(" ".join([*self.post, text])) > self.longest:
            return False
        self.post.append(text)
        self.intents += intents
        return True


class Player:
    """One turn of a surrogate."""

    def __init__(self, view: View, profile: Profile, rng: Random) -> None:
        self.view = view
        self.profile = profile
        self.rng = rng
        self.me = view.rules.me
        self.voice = profile.voice
        self.answer = Answer(view.rules.post_length)
        # What the channel says, the last word last.
        self.taken: dict[str, str] = {}
        self.my_word: str | None = None
        self.roots: dict[str, str] = dict(view.points)
        self.causes: dict[str, str] = dict(view.causes)
        self.known = set(view.points) | set(view.causes) | view.clean
        self.told: set[str] = set()
        self.asked: set[str] = set()  # services that somebody asked somebody for after round 1
        for post in view.posts:
            if post.round > 1:
                self.asked.update(target for _, _, target in post.reading.asks)
            for who, service in post.reading.claims:
                if who == self.me:
                    if post.author == self.me:
                        self.my_word = service
                else:
                    self.taken[service] = who
            for alerting, root in post.reading.roots:
                self.roots.setdefault(alerting, root)
                self.known.add(alerting)
            for service, change in post.reading.causes:
                self.causes.setdefault(service, change)
                self.known.add(service)
            self.known.update(post.reading.clean)
            if post.author == self.me:
                told = post.reading
                self.told.update(a for a, _ in told.roots)
                self.told.update(s for s, _ in told.causes)
                self.told.update(told.clean)
        self.my_note = self._noted()

    def act(self) -> Answer:
        """Decide and word the turn."""
        if self.view.round == 1:
            self._open()
        else:
            self._report()
            if self.view.round >= self.view.rules.file_round and self.view.filings_left:
                self._file()
            if self.view.queries_left and self.view.round >= self.view.rules.query_round:
                self._query()
            elif self.view.rules.post_length:
                self._direct()
        if not self.answer.note:
            self.answer.note.append(wording.chat(self.rng, self.voice))
        return self.answer

    # round 1

    def _open(self) -> None:
        rng, services = self.rng, self.view.rules.services
        own = self._weighted({s: self._base(s) for s in services})
        self.answer.note.append(f"Plan: query {own}.")
        plans = self.profile.plans * (FIRST_PLANS if self.view.rules.team[0] == self.me else 1.0)
        if rng.random() < plans:
            self._plan(own)
        elif rng.random() < self.profile.claims:
            self.answer.say(wording.claim(rng, self.voice, own))
        elif rng.random() < 0.15:
            failing = list(self.view.alerts)
            count = min(len(failing), rng.randint(1, 2))
            self.answer.say(wording.open_request(rng, self.voice, rng.sample(failing, count)))
        elif rng.random() < 0.6:
            self.answer.say(wording.chat(rng, self.voice))

    def _plan(self, own: str) -> None:
        rng = self.rng
        mates = [name for name in self.view.rules.team if name != self.me]
        failing = [s for s in self.view.alerts if s != own]
        others = [s for s in self.view.rules.services if s != own and s not in failing]
        rng.shuffle(failing)
        rng.shuffle(others)
        wanted = failing + others if rng.random() < 0.75 else failing
        if rng.random() < 0.5:
            rng.shuffle(mates)
        pairs = list(zip(mates, wanted, strict=False))
        if len(pairs) < 2:
            return
        text = wording.plan(rng, self.voice, self.me, pairs, own, self.answer.longest)
        self.answer.say(text, *_meant(pairs, text))

    # findings

    def _report(self) -> None:
        """Post what my cards say, once."""
        rng, voice = self.rng, self.voice
        for alerting, root in self.view.points.items():
            if alerting not in self.told:
                text = wording.finding_alert(rng, voice, alerting, root)
                self._share(alerting, text)
        for service, change in self.view.causes.items():
            if service not in self.told and change not in self.view.filed:
                self._share(service, wording.finding_root(rng, voice, service, change))
        for service in sorted(self.view.clean - self.told):
            self._share(service, wording.finding_clean(rng, voice, service))

    def _share(self, service: str, text: str) -> None:
        self.answer.note.append(text)
        if self.rng.random() < 0.95 and self.answer.say(text):
            self.told.add(service)

    # filing

    def _file(self) -> None:
        rng = self.rng
        open_causes = {s: c for s, c in self.causes.items() if c not in self.view.filed}
        asked = [
            (post.author, target)
            for post in self.view.posts
            for who, kind, target in post.reading.asks
            if who == self.me and kind == "file" and target not in self.view.filed
        ]
        mine = [s for s in open_causes if s in self.view.causes]
        if mine and rng.random() < 0.9:
            change = open_causes[mine[0]]
            if self.view.rules.post_length and rng.random() < self.profile.delegates:
                self._ask(rng.choice(self._mates()), "file", change, f"my {mine[0]} card names it")
            else:
                self._file_now(change, mine[0])
        elif asked and rng.random() < 0.7:
            author, change = asked[-1]
            self.answer.note.append(f"Filing {change}, as {author} asked.")
            self._file_now(change, self._service_of(change))
        elif open_causes and rng.random() < self.profile.files:
            service, change = next(iter(open_causes.items()))
            self._file_now(change, service)
        elif self.view.round >= self.view.rounds - 2 and rng.random() < self.profile.guesses:
            self._guess()

    def _guess(self) -> None:
        """File one of the config changes of a root whose card nobody showed."""
        roots = [
            r for a, r in self.roots.items() if a in self.view.failing and r not in self.causes
        ]
        for root in roots:
            options = [
                c.id
                for c in self.view.changes
                if c.service == root and c.kind.startswith("config") and c.id not in self.view.filed
            ]
            if options:
                self._file_now(self.rng.choice(options), root)
                return

    def _file_now(self, change: str, service: str) -> None:
        self.answer.file = change
        self.answer.say(wording.filing(self.rng, self.voice, change, service))

    def _service_of(self, change: str) -> str:
        return next((c.service for c in self.view.changes if c.id == change), "it")

    # querying

    def _query(self) -> None:
        rng = self.rng
        obeyed = self._obeyed()
        if obeyed:
            author, service = obeyed
            self.answer.query = service
            self._credit(author, service)
            return
        weights = {s: self._base(s) for s in self.view.rules.services}
        heard = max(weights.values()) >= _HEARD_ROOT
        keeps = _HOLDS_BACK if heard else _WAITS
        if rng.random() < keeps or max(weights.values()) < _OTHER / 2:
            self.answer.note.append("I keep my query for now.")
            return
        service = self._weighted(weights)
        self.answer.query = service
        self.answer.note.append(f"I query {service}.")
        if rng.random() < 0.97:
            self.answer.say(wording.took(rng, self.voice, service))

    def _obeyed(self) -> tuple[str, str] | None:
        """(author, service) of the request that is followed, if any is."""
        for post in reversed(self.view.posts):
            for who, kind, service in post.reading.asks:
                if who != self.me or kind != "query":
                    continue
                chance = self.profile.obeys
                if post.reading.tentative:
                    chance *= _HEDGED
                if post.reading.reasoned:
                    chance *= _ARGUED
                if post.reading.covers >= len(self.view.rules.team) - 2:
                    chance *= _WHOLE_TEAM
                if self.taken.get(service, post.author) != post.author or service in self.known:
                    chance *= _ALREADY_TAKEN
                if self.my_word not in (None, service):
                    chance *= _AGAINST_MY_WORD
                if self.rng.random() < min(chance, 0.95):
                    return post.author, service
        return None

    def _credit(self, author: str, service: str) -> None:
        """Name the author in the post, the note or the reasoning, or just the plan, or nothing."""
        rng = self.rng
        where = rng.choices(("post", "note", "reasoning", "plan", ""), (26, 24, 16, 17, 17))[0]
        if where == "post":
            self.answer.say(wording.follow(rng, self.voice, author, service))
            return
        if where == "note":
            self.answer.note.append(wording.follow(rng, self.voice, author, service))
        elif where == "plan":
            self.answer.note.append(f"I query {service}, that is my part of the split.")
        else:
            self.answer.note.append(f"I query {service}.")
            if where == "reasoning":
                self.answer.reasoning = f"{author} gave me {service}; nothing speaks against it."
        self.answer.say(wording.took(rng, self.voice, service))

    def _base(self, service: str) -> float:
        weight = _FAILING if service in self.view.failing else _OTHER
        if service in self.roots.values() and service not in self.causes:
            weight = _HEARD_ROOT
        if service in self.taken:
            weight *= _TAKEN
        elif service == self.my_word:
            weight *= _MY_WORD
        elif service == self.my_note:
            weight *= _MY_NOTE
        if service in self.known:
            weight *= _KNOWN
        return weight

    def _weighted(self, weights: dict[str, float]) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def _noted(self) -> str | None:
        """The service that I noted for myself in round 1."""
        for note in self.view.notes:
            if note.startswith("Plan: query "):
                return note.removeprefix("Plan: query ").split(".")[0]
        return None

    # asking others

    def _direct(self) -> None:
        """Ask somebody for a root that nobody has looked at, call the roll, or just talk."""
        rng = self.rng
        roots = [r for a, r in self.roots.items() if a in self.view.failing and self._is_gap(r)]
        free = [name for name in self._mates() if name not in self.taken.values()]
        if roots and free and rng.random() < self.profile.orders:
            gaps = [s for s in self.view.rules.services if self._is_gap(s) and s not in roots]
            pairs = list(zip(rng.sample(free, len(free)), roots + gaps, strict=False))
            if len(pairs) >= 2 and rng.random() < _SHARES_OUT:
                text = wording.plan(rng, self.voice, self.me, pairs, None, self.answer.longest)
                self.answer.say(text, *_meant(pairs, text))
            else:
                self._ask(pairs[0][0], "query", pairs[0][1], None)
        elif self.answer.post:
            return
        elif len(self.taken) >= 2 and rng.random() < 0.15:
            taken = [(who, s) for s, who in list(self.taken.items())[:4]]
            self.answer.say(wording.roll_call(rng, self.voice, taken))
        elif rng.random() < 0.35:
            self.answer.say(wording.chat(rng, self.voice))

    def _is_gap(self, service: str) -> bool:
        return service not in self.known | self.taken.keys() | self.asked

    def _ask(self, mate: str, kind: str, target: str, reason: str | None) -> None:
        text = wording.order(
            self.rng, self.voice, mate, "file" if kind == "file" else "query", target, reason
        )
        self.answer.say(text, Intent(mate, kind, target))

    def _mates(self) -> list[str]:
        return [name for name in self.view.rules.team if name != self.me]


def _meant(pairs: list[tuple[str, str]], text: str) -> list[Intent]:
    """The directives of a plan, without assignments that a short post had no room for."""
    return [Intent(mate, "query", s) for mate, s in pairs if mate in text and s in text.lower()]
