"""How a surrogate agent reads one post.

The idea: a post is first written as a string of one letter per word (its *code*), and a small
grammar of regular expressions reads that string. "Bo, could you take cart?" becomes `N,qS?`, "cart
is with Bo" becomes `ShBN`. So the grammar knows kinds of words and never names or services, which
makes the reading invariant under renaming, and it runs over some thirty letters, not 150.

This is a teammate's quick reading, not the study's tagger (`classifiers`), and it may be wrong.

Letters for what a post is about: N a teammate, A the author by name, S a service, C a change id,
I "I", m "me, mine", y "my", K "card", c a teammate who is only cited ("as Bo said"). The letters of
other words are in `WORDS`; w is any word not listed there. Punctuation stands for itself, with all
dashes written -, all arrows > or <, and ! as a full stop.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeVar

_Item = TypeVar("_Item")
_Pairs = tuple[tuple[int, int], ...]

LONGEST = 600
"""Characters of a post that are read; the rules of the room cut posts well before that."""

WORDS = {
    "I": "i i'll i've i'm i'd happy-to glad-to",
    "m": "me mine myself",
    "y": "my",
    "K": "card cards",
    # asking or doing: "query cart"; Y may also be a noun: "claim: cart"
    "q": "query check take cover look inspect examine read grab dig probe handle investigate pull "
    "peek try start do switch move go stay verify own queries checks takes covers inspects "
    "examines reads grabs digs handles investigates pulls tries starts does switches moves goes "
    "stays verifies owns looks-at have-a-look mind-taking mind-querying mind-checking mind-looking",
    "Y": "claim pick choice",
    "g": "querying checking taking covering looking inspecting examining reading grabbing digging "
    "probing handling investigating pulling claiming going starting switching moving heading",
    "d": "queried checked took examined inspected grabbed pulled picked used spent went sent",
    "f": "file files submit submits revert reverts rollback roll-back",
    "F": "filing filed submitting submitted reverting reverted",
    # state: "Bo has cart"
    "h": "has got is are was were it's that's holds been means says",
    "H": "have had",
    "z": "taken claimed covered already status tally current currently count claims so-far",
    "l": "on to for in at into onto",
    "B": "by with",
    "o": "of",
    # what follows b is cited, what precedes u is cited: "as Bo suggested"
    "b": "as per following thanks thank agree agreed like follow love told",
    "u": "suggested suggests asked proposed proposes said wrote assigned wanted wants mentioned",
    "n": "not don't no never isn't aren't can't cannot without avoid skip didn't doesn't wasn't "
    "won't shouldn't instead supposed",
    "v": "someone anyone somebody anybody who whoever nobody everyone everybody others open free "
    "unclaimed left uncovered did unless seen one-of-you",
    "%": "because since so therefore hence otherwise reason",
    # findings: a change is the cause of a service's trouble (e); a service is behind another's (x);
    # a service's trouble has its root (r) in, comes from (t), is traced to (T) another's; no
    # trouble (k, and O only after the service), or trouble (j), which "no" turns into none
    "e": "cause causes caused culprit confirmed confirms names blame blames broke broken "
    "responsible introduced guilty",
    "x": "behind breaks breaking causing drives driving hurts",
    "r": "root source origin upstream",
    "t": "from because-of due-to comes come points leads",
    "T": "trace traces traced",
    "k": "nothing clean healthy unaffected uninvolved innocent normal",
    "O": "fine ok okay good green quiet clear",
    "j": "wrong problem problems fault faults issue issues error errors trouble involved "
    "suspicious anomaly anomalies amiss",
    "i": "hi hey hello",
    "a": "and & +",
    # polite and auxiliary words say nothing here and are left out
    "": "could can would will please should the a an just now then also you your you're let let's "
    "next still need needs must may might maybe perhaps possibly be being right don't-mind "
    "nobody-minds",
    "-": "- – —",
    ">": "→ ➜ ➡ ⇒ 👉",
    "<": "← ⇐",
    ".": ". ! … :) :( :-) :-(",
}
"""The letter of each listed word; a hyphen stands for the blank in a phrase."""

_HEDGE_WORDS = (
    "maybe perhaps might possibly think guess wonder suppose unsure idea minds hopefully hope "
    "seems believe afraid probably tentatively nobody-minds don't-mind"
)
HEDGES = frozenset(word.replace("-", " ") for word in _HEDGE_WORDS.split())
"""Words and phrases of which one makes a post tentative."""

_PHRASES = frozenset(
    word.replace("-", " ")
    for words in WORDS.values()
    for word in words.split()
    if re.fullmatch(r"\w\S*-\S*\w", word)
)


def _both_cases(words: Iterable[str]) -> frozenset[str]:
    """Returns the words as they are and with a capital first letter."""
    return frozenset(form for word in words for form in (word, word[:1].upper() + word[1:]))


_OPENERS = _both_cases(phrase.split()[0] for phrase in _PHRASES)
_HEDGES = _both_cases(HEDGES)
_LISTED_WORDS = {mark: (mark, mark) for mark in ",:;?(=<>/|\n"} | {
    form.replace("-", " ") if form[0].isalpha() else form: (letter, form)
    for letter, words in WORDS.items()
    for form in _both_cases(words.split())
}
_TOKEN = (
    r"\w+(?:'\w+|-\d{2,4}(?!\w))?|:-?[)(]|[.,:;!?(\n→/|&+>➜➡⇒👉←⇐…–—]|[-=]{1,2}>|<[-=]{0,2}|="
    r"|-(?!\w)|(?<!\w)-"
)
_NUMBERING = re.compile(r"^[ \t]{0,4}\d\d?\.|\(?\b\d\d?\)", re.MULTILINE)
_CHANGE = re.compile(r"[A-Z]{1,3}-\d{2,4}")
_GREETED = re.compile(r"(?<=iN)\.")
_CITED = re.compile(r"b[wBa]{0,2}[NP](?:aN)?|P(?![lghd])|N(?=u)")

# Pieces of the grammar. LINK joins a name and a service in a list; MORE is a second service.
_LINKS = r":>=<\-("
_LINK = f"[{_LINKS}]"
_MORE = rf"(?:[a/]S(?!{_LINK}{{0,2}}[NAIm]|[lh]))?"
_AND = r"(?:,a?|a|/)"
_GAP = rf"[,{_LINKS}wlhHaqYgdzeBny]{{0,8}}"
_START = r"(?<=[.?\n;:,\-])"
# Ends an entry of a list: "cart: Bo, ..." and not "- cart errors come from it".
_LISTED_END = r"(?=[,.;|/\n?a%SN])"
_EACH = rf"(?P<each>[NAIm](?:{_AND}[NAIm])+{_GAP}S(?:{_AND}S)+(?!{_LINK}?[NAIm]))"
_AUTHOR = (
    r"(?P<author>(?:A\(?[wh]{0,2}m|m\(A|(?<!B)[IAm])"
    rf"[{_LINKS}wqYgdhHlaobcupBzy,]{{0,10}}?S{_MORE})"
)
_GRAMMAR = {
    "N": (
        # Bo, please file D-466 / Bo: D-466
        r"(?P<file>N[,:>\-wlahHqyz(]{0,6}f[wlSoab]{0,4}C|N[:>=<\-]{1,2}C)",
        # Ada, Bo and Cy: search, email and cart (one each, in order)
        _EACH,
        # Ada and Bo on search
        rf"(?P<both>N(?:aN)+{_GAP}S)",
        # Bo: cart / Bo, could you take cart / Bo has cart
        rf"(?P<teammate>N{_GAP}S{_MORE})",
    ),
    # I take cart / me: cart / Fay (me): cart, written by Fay
    "I": (_EACH, _AUTHOR),
    "A": (_EACH, _AUTHOR),
    "m": (_EACH, _AUTHOR),
    # Bo's on cart
    "P": (r"(?P<passive>P[wlgd]{1,4}S)",),
    # file D-466, Bo / D-466: Bo
    "f": (rf"(?P<file>f[wlSob]{{0,4}}C,?N(?![qf]|[:>=<]?C|[:>=<]S{_LISTED_END}))",),
    "C": (r"(?P<file>C(?:[:>=\-]{1,2}|l)N)",),
    # can you take cart, Bo?
    "q": (
        rf"(?P<called>q[wl]{{0,2}}S,?N(?![:>=<(\-]S{_LISTED_END}|[qhHlgd]))",
        rf"(?P<bare>{_START}qd:S)",
    ),
    "S": (
        # search, email and cart: Ada, Bo and Cy
        rf"(?P<each>S(?:{_AND}S)+{_LINK}{{1,2}}[NAIm](?:{_AND}[NAIm])+(?!{_LINK}S))",
        # cart was queried by Bo
        r"(?P<passive>S[hHw]{0,3}[dz]B[NAIm])",
        # cart: Bo / cart (Bo) / cart for Bo / cart is mine
        rf"(?P<service>S(?:{_LINK}{{1,2}}|[hq]?l|h?B|h?(?=m))(?:N(?![:>=<(]S{_LISTED_END}|[qgdhH]|fC)"
        r"|[AIm](?![qgdhHlFf:>=])))",
        # cart queried / cart, as Bo said
        rf"(?P<bare>{_START}S(?:[hHw]{{0,2}}d(?!B)|,?bcu?\.))",
    ),
    # Querying cart / on cart now / claim: cart / my query goes to cart
    "g": (rf"(?P<bare>(?:{_START}|(?<=[.?\n;:,\-][wi]))g[wlyqB:]{{0,4}}S)",),
    "d": (rf"(?P<bare>(?:{_START}|(?<=[.?\n;:,\-][wi]))d[wlyqB:]{{0,4}}S)",),
    "l": (rf"(?P<bare>{_START}lS(?=w?\.))",),
    "Y": (rf"(?P<bare>{_START}Y[:>\-]S)",),
    "y": (r"(?P<bare>y[wq]{0,2}[qYd][hwldg:>]{0,4}S)",),
}
"""The forms of directives and claims, by the letter with which they begin."""
_DEALS = {letter: re.compile("|".join(forms)) for letter, forms in _GRAMMAR.items()}
_CLAIMING = re.compile(r"^[^n]*[qYgdhHlz][^n]*$")
_LISTED = re.compile(rf",?{_LINK}{{0,2}}l?|ql|hl")
_ROOT = re.compile(r"(?P<of>[re][ol]w?)?(?P<traced>T)?S(?=(?P<gap>[^NSCnqgv.?\n;]{1,10})S)")
_ROOT_CUES = frozenset("rtTxe<>")
_CAUSE = re.compile(
    r"C[whHlBSo,\-:>=(]{0,5}e(?!\?)|[et][whlBSo:=>,\-]{0,5}C|K[whlBt:,>\-=]{0,4}C(?!\?)"
)
_OF_SERVICE = re.compile(r"[wlo(,]{0,3}S")
_CLEAN = re.compile(
    r"S[whHlbBy]{0,6}(?:k|n[wa]{0,3}j)|S(?:[:=,\-]h?k|[:\-]nw?j)"
    r"|SK[whHlB]{0,3}[:=,\-]?[whH]{0,4}(?:k|n[wa]{0,3}j)"
    r"|(?:k|nw{0,2}j)[wjhlBo]{0,5}S|S[hwK:=,\-]{0,3}O"
)
_CLEAN_CUES = frozenset("kjO")
_FILED = re.compile(r"F[wlSoKe,:]{0,4}C|I[wlqa]{0,4}f[wlSo]{0,4}C|C[hHwl]{0,3}F")
_REASON = re.compile(r"%|(?:[SCf][\-:(]S?|N[\-:(])[wyvKhHjetnzkBlT]{3}|N[\-:(]S[jt]")


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

    asks: _Pairs
    """(teammate, service or change)"""
    claims: _Pairs
    """(who, service)"""
    roots: _Pairs
    """(alerting service, root service)"""
    causes: _Pairs
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
        if _CHANGE.fullmatch(bare):
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


@lru_cache(maxsize=50_000)
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


def _distinct(items: list[_Item]) -> tuple[_Item, ...]:
    """Returns the items without repeats, in order."""
    return tuple(dict.fromkeys(items)) if items else ()


@lru_cache(maxsize=1_000)
def _lexicon(
    author: str, names: tuple[str, ...], services: tuple[str, ...]
) -> tuple[re.Pattern[str], _Letters]:
    """Returns how to split a post by `author` into tokens, and what the tokens are."""
    letters = _Letters(_LISTED_WORDS)
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
    token = rf"(?<!\w)(?:{longest})(?:'\w+)?(?!\w)|{_TOKEN}" if special else _TOKEN
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
        text = _NUMBERING.sub("", text)
    words = token.findall(text)
    if not _OPENERS.isdisjoint(words):
        words = _joined(words)
    tokens = [pair for word in words if (pair := letters[word])[0]]
    code = "".join([".", *[pair[0] for pair in tokens], "."])
    values = [".", *[pair[1] for pair in tokens], "."]
    if "i" in code:
        code = _GREETED.sub(",", code)
    if "b" in code or "P" in code or "u" in code:
        code = _CITED.sub(_cite, code)
    return code, values, not _HEDGES.isdisjoint(words)


def _cite(match: re.Match[str]) -> str:
    """Returns the match with its teammates as cited ones."""
    return match[0].replace("N", "c").replace("P", "c")


def _joined(words: list[str]) -> list[str]:
    """Returns the tokens with each phrase, like "so far", as one (in lower case)."""
    joined = []
    position = 0
    while position < len(words):
        word, size = words[position], 1
        if word in _OPENERS:
            for longer in (3, 2):
                phrase = " ".join(words[position : position + longer]).lower()
                if phrase in _PHRASES:
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
        roots=tuple(_roots(code)) if services and not _ROOT_CUES.isdisjoint(code) else (),
        causes=tuple(_causes(code)) if changes and services else (),
        clean=tuple(_places(_CLEAN, code, "S")) if not _CLEAN_CUES.isdisjoint(code) else (),
        filed=tuple(_places(_FILED, code, "C")) if changes else (),
        reasoned=_REASON.search(code) is not None,
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
        if start < until or not (forms := _DEALS.get(letter)):
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
        return "claim" if _CLAIMING.search(gap) or _LISTED.fullmatch(gap) else ""
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
    listed = gap != "," and _LISTED.fullmatch(gap) is not None
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
    for match in _ROOT.finditer(code):
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
    for match in _CAUSE.finditer(code):
        start, end = match.span()
        # The service is the one named with the change, or else the nearest, in the same sentence
        # if possible: "My card is here. D-466 is the cause on cart."
        opened = max(code.rfind(stop, 0, start) for stop in ".?\n")
        closed = min(place for stop in ".?\n" if (place := code.find(stop, end)) >= 0)
        follows = _OF_SERVICE.match(code, end)
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
