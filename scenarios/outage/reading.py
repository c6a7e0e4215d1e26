"""How a surrogate agent reads one post.

The idea: a post is first written as a string of one letter per word (its *code*), and a small
grammar of regular expressions reads that string. "Bo, could you take cart?" becomes `N,qS?`, "cart
is with Bo" becomes `ShBN`. So the grammar knows kinds of words and never names or services, which
makes the reading invariant under renaming, and it runs over some thirty letters, not 150.

This is a teammate's quick reading, not the study's tagger (`classifiers`), and it may be wrong.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from scenarios.outage.grammar import (
    CAUSE,
    CHANGE,
    CITED,
    CLAIMING,
    CLEAN,
    CLEAN_CUES,
    DEALS,
    FILED,
    GREETED,
    HEDGES,
    LISTED,
    LISTED_WORDS,
    LONGEST,
    NUMBERING,
    OF_SERVICE,
    OPENERS,
    PHRASES,
    REASON,
    ROOT,
    ROOT_CUES,
    TOKEN,
    Item,
    Pairs,
)


@dataclass(frozen=True, slots=True)
class PostReading:
    """What a surrogate makes of one post. All tuples follow the post and have no repeats."""

    asks: tuple[tuple[str, str, str], ...] = ()
    """(teammate, "query" or "file", service or change id) that the post asks for."""
    claims: tuple[tuple[str, str], ...] = ()
    """(who, service) taken, queried or covered, by the author or by somebody it reports."""
    roots: tuple[tuple[str, str], ...] = ()
    """(alerting service, root service) found."""
    causes: tuple[tuple[str, str], ...] = ()
    """(service, change id) reported as the cause."""
    clean: tuple[str, ...] = ()
    """Services reported to have nothing wrong."""
    filed: tuple[str, ...] = ()
    """Change ids said to be filed, by whomever."""
    tentative: bool = False
    """Whether the post is hedged."""
    reasoned: bool = False
    """Whether the post gives a reason."""
    covers: int = 0
    """How many different teammates are asked."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the code of a post says, as places in the code; place 0 is the unnamed author."""

    asks: Pairs
    """(teammate, service or change)"""
    claims: Pairs
    """(who, service)"""
    roots: Pairs
    """(alerting service, root service)"""
    causes: Pairs
    """(service, change)"""
    clean: tuple[int, ...]
    """services"""
    filed: tuple[int, ...]
    """changes"""
    reasoned: bool


class _Letters(dict[str, tuple[str, str]]):
    """The letter and the meaning of each token of a room; learns unlisted tokens as they come."""

    def __missing__(self, word: str) -> tuple[str, str]:
        found = self._unlisted(word)
        if len(self) < 10_000:  # hostile texts must not fill the memory
            self[word] = found
        return found

    def _unlisted(self, word: str) -> tuple[str, str]:
        """Returns the letter (P for "Bo's") and the meaning of a rarer token."""
        bare = word.strip("_")
        if CHANGE.fullmatch(bare):
            return "C", bare
        stem, _, ending = bare.rpartition("'")
        known = (word.lower(), bare, stem, stem.lower(), (stem or bare).partition("-")[0])
        found = next((self[form] for form in known if form and form in self), None)
        if found is not None:
            return ("P", found[1]) if ending and found[0] == "N" else found
        if word[-1] == ">":
            return ">", word
        if word[0] == "<":
            return "<", word
        return ("w" if bare else "", word)


@lru_cache(maxsize=4096)  # a room's posts are read again and again, another room's never
def read_post(
    post: str, author: str, names: tuple[str, ...], services: tuple[str, ...]
) -> PostReading:
    """Returns what a teammate makes of `post`, written by `author`.

    Parameters
    ----------
    post : str
        Any text; what is beyond `LONGEST` characters is not read.
    author : str
        The name of the author, who is never asked for anything by its own post.
    names, services : tuple of str
        The names of all teammates and the services of the room.
    """
    code, values, tentative = _encode(post, author, names, services)
    shape = _shape(code)
    asks = [
        (values[who], "file" if code[what] == "C" else "query", values[what])
        for who, what in shape.asks
    ]
    values[0] = author  # claims without a name are those of the first, empty place
    return PostReading(
        asks=_distinct(asks),
        claims=_distinct([(values[who], values[what]) for who, what in shape.claims]),
        roots=_distinct([(values[alert], values[root]) for alert, root in shape.roots]),
        causes=_distinct([(values[service], values[change]) for service, change in shape.causes]),
        clean=_distinct([values[service] for service in shape.clean]),
        filed=_distinct([values[change] for change in shape.filed]),
        tentative=tentative,
        reasoned=shape.reasoned,
        covers=len({ask[0] for ask in asks}),
    )


def _distinct(items: list[Item]) -> tuple[Item, ...]:
    """Returns the items without repeats, in order."""
    return tuple(dict.fromkeys(items)) if items else ()


@lru_cache(maxsize=1_000)
def _lexicon(
    author: str, names: tuple[str, ...], services: tuple[str, ...]
) -> tuple[re.Pattern[str], _Letters]:
    """Returns how to split a post by `author` into tokens, and what the tokens are."""
    letters = _Letters(LISTED_WORDS)
    # Names of several words are tokens of their own.
    special = []
    for name in filter(None, names):
        letter, written = "A" if name == author else "N", name.replace("’", "'")
        # "bo", but not "BO" or "GIL": capitals are rather another word
        letters.setdefault(written.lower(), (letter, name))
        letters[written] = (letter, name)
        special.append(written)
    for service in filter(None, services):
        written = service.replace("’", "'")
        for form in {written, written.lower(), written.capitalize(), written.upper()}:
            letters[form] = ("S", service)
            special.append(form)
    special = sorted((word for word in special if not re.fullmatch(r"\w+", word)), key=len)
    longest = "|".join(re.escape(word) for word in reversed(special))
    token = rf"(?<!\w)(?:{longest})(?:'\w+)?(?!\w)|{TOKEN}" if special else TOKEN
    return re.compile(token, re.MULTILINE), letters


def _encode(
    post: str, author: str, names: tuple[str, ...], services: tuple[str, ...]
) -> tuple[str, list[str], bool]:
    """Returns the code of a post, the meaning of each of its letters, and whether it is hedged.

    The code starts and ends with a full stop of its own, so that the grammar needs no special case.
    """
    token, letters = _lexicon(author, names, services)
    text = post[:LONGEST].replace("’", "'")
    if "1." in text or "1)" in text:
        text = NUMBERING.sub("", text)
    words = token.findall(text)
    if not OPENERS.isdisjoint(words):
        words = _joined(words)
    tokens = [pair for word in words if (pair := letters[word])[0]]
    code = "".join([".", *[pair[0] for pair in tokens], "."])
    values = [".", *[pair[1] for pair in tokens], "."]
    if "i" in code:
        code = GREETED.sub(",", code)
    if "b" in code or "P" in code or "u" in code:
        code = CITED.sub(_cite, code)
    return code, values, not HEDGES.isdisjoint(words)


def _cite(match: re.Match[str]) -> str:
    """Returns the match with its teammates as cited ones."""
    return match[0].replace("N", "c").replace("P", "c")


def _joined(words: list[str]) -> list[str]:
    """Returns the tokens with each phrase, like "so far", as one (in lower case)."""
    joined = []
    position = 0
    while position < len(words):
        word, size = words[position], 1
        if word in OPENERS:
            for longer in (3, 2):
                phrase = " ".join(words[position : position + longer]).lower()
                if phrase in PHRASES:
                    word, size = phrase, longer
                    break
        joined.append(word)
        position += size
    return joined


@lru_cache(maxsize=20_000)
def _shape(code: str) -> _Shape:
    """Returns what a code says. Cached, because posts are many and their shapes are few."""
    asks, claims = _deals(code)
    changes, services = "C" in code, "S" in code
    return _Shape(
        asks=tuple(asks),
        claims=tuple(claims),
        roots=tuple(_roots(code)) if services and not ROOT_CUES.isdisjoint(code) else (),
        causes=tuple(_causes(code)) if changes and services else (),
        clean=tuple(_places(CLEAN, code, "S")) if not CLEAN_CUES.isdisjoint(code) else (),
        filed=tuple(_places(FILED, code, "C")) if changes else (),
        reasoned=REASON.search(code) is not None,
    )


def _places(pattern: re.Pattern[str], code: str, letter: str) -> list[int]:
    """Returns where `letter` stands inside the matches of a pattern."""
    found = pattern.finditer(code)
    return [i for match in found for i in range(match.start(), match.end()) if code[i] == letter]


def _deals(code: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the places of the directives and of the claims."""
    asks: list[tuple[int, int]] = []
    claims: list[tuple[int, int]] = []
    until = 0
    for start, letter in enumerate(code):
        if start < until or not (forms := DEALS.get(letter)):
            continue
        match = forms.match(code, start)
        if match is None:
            continue
        end, kind = match.end(), match.lastgroup or ""
        target = "C" if kind == "file" else "S"
        who = [i for i, this in enumerate(match[0], start) if this in "NAImP"]
        what = [i for i, this in enumerate(match[0], start) if this == target]
        verdict = _verdict(code, end, kind, who, what)
        if not verdict:  # what begins inside a misread start is still to be read
            continue
        until = end
        if kind in ("author", "bare"):
            who = [0]
        pairs = zip(who, what, strict=True) if kind == "each" else product(who, what)
        for one, thing in pairs:
            named = code[one] in "NP"
            if verdict == "ask" and named:
                asks.append((one, thing))
            elif target == "S":
                claims.append((one if named else 0, thing))
    return asks, claims


def _verdict(code: str, end: int, kind: str, who: list[int], what: list[int]) -> str:
    """Returns whether a match is an "ask", a "claim" or, if empty, neither."""
    if kind in ("file", "called"):
        return "ask"
    if kind in ("bare", "passive"):
        return "claim"
    if kind == "each" and len(who) != len(what):
        return ""
    first = min(who[0], what[0])
    gap = code[who[-1] + 1 : what[0]] if first == who[0] else code[what[-1] + 1 : who[0]]
    if kind == "author":
        return "claim" if CLAIMING.search(gap) or LISTED.fullmatch(gap) else ""
    sense = _sense(gap, code[end : end + 1])
    if sense != "list":
        return sense
    sentence = max(code.rfind(".", 0, first), code.rfind("?", 0, first))
    return "claim" if "z" in code[sentence:first] else "ask"


@lru_cache(maxsize=10_000)
def _sense(gap: str, after: str) -> str:
    """Returns what the letters between a teammate and a service make of the two.

    "ask", "claim", "list" (an entry that is a claim in a list of claims), or "" for nothing.
    """
    listed = gap != "," and LISTED.fullmatch(gap) is not None
    if "n" in gap or (gap == "" and after == "K"):
        sense = ""
    elif "q" in gap or "Y" in gap:
        done = "z" in gap or ("h" in gap.partition("q")[0] and "hl" not in gap)
        sense = "claim" if done and not listed else "ask"
    elif any(letter in gap for letter in "hHgdzB"):
        sense = "claim" if gap[0] not in ",-:" else ""
    elif listed or (gap == "," and after in ".?-:(\n"):
        sense = "list"
    else:
        sense = ""
    return sense


def _roots(code: str) -> list[tuple[int, int]]:
    """Returns the places of alerting services and their roots."""
    found = []
    for match in ROOT.finditer(code):
        gap, first, second = match["gap"], match.end() - 1, match.end() + len(match["gap"])
        traced = match["traced"] and gap[-1] == "l"
        if traced or (match["of"] and re.fullmatch(r"[wjhK]{0,3}[h:=>\-]", gap)):
            found.append((first, second))
        elif "x" in gap or re.search(r"r[ol]|e(?!w*B|[:=>h])", gap):
            found.append((second, first))
        elif any(letter in gap for letter in "rtTe<") or (gap == ">" and "K" in code):
            found.append((first, second))
    return found


def _causes(code: str) -> list[tuple[int, int]]:
    """Returns the places of services and the changes reported as their causes."""
    found = []
    for match in CAUSE.finditer(code):
        start, end = match.span()
        # The service is the one named with the change, or else the nearest, in the same sentence
        # if possible: "My card is here. D-466 is the cause on cart."
        opened = max(code.rfind(stop, 0, start) for stop in ".?\n")
        closed = min(place for stop in ".?\n" if (place := code.find(stop, end)) >= 0)
        follows = OF_SERVICE.match(code, end)
        places = (
            code.find("S", start, end),
            follows.end() - 1 if follows else -1,
            code.rfind("S", opened, start),
            code.find("S", end, closed),
            code.rfind("S", 0, start),
            code.find("S", end),
        )
        found.append((next(place for place in places if place >= 0), code.index("C", start)))
    return found
