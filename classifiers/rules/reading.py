"""Steps 1 and 2: what orders nothing is set aside, and entries are taken."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from classifiers.directives import Kind, PostInRoom
from classifiers.rules.vocabulary import FIRST_OF_PHRASE
from classifiers.rules.words import (
    AFTER_SUCH_A_VERB,
    SERVICES_THAT_ARE_VERBS,
    Words,
    nearest,
    plain_text,
    with_phrases,
)

# --- Step 1: what is set aside ------------------------------------------------------------------
_LIST = "[,&]{1,2}"
_NAME_ONLY = str.maketrans("n", "u")
_ASIDE = str.maketrans("nsdzqgtfhompbVWDieyxrHFP", "u" + "w" * 23)
_REFUSED = str.maketrans("sdzx", "wwwX")
_THINGS = str.maketrans("sdzb", "wwww")


def _rule(pattern: str, table: dict[int, int]) -> Callable[[str], str]:
    """A function that sets aside, in a string of symbols, what `pattern` matches."""
    sub = re.compile(pattern).sub

    def apply(symbols: str) -> str:
        return sub(lambda found: found[0].translate(table), symbols)

    return apply


# In order; each is tried only when one of its symbols occurs.
_RULES: tuple[tuple[str, Callable[[str], str]], ...] = (
    # "after the cart card, ...", "unless Fay has it": up to the comma, or to an order by name
    ("c", _rule(r"c(?:(?!n[m:])[^,.;?!\n:()-])*", _ASIDE)),
    # "Ada suggested Bo take cart", "I told Bo to query cart"
    ("r", _rule(r"(?<=[^.?;\n])r[^.?;\n]*", _NAME_ONLY)),
    # "search, email and cart are down", "Bo: cart is clean"
    ("b", _rule(rf"[sdz](?:{_LIST}[sdz]){{0,9}}b|[wpj]b", _THINGS)),
    ("t", _rule(r"[sdzwp]t", _ASIDE)),
    ("k", _rule(r"(?<=[:~-])[sdz](?=a?[wj]b)", _THINGS)),
    # "the cart (clean, ...)", "inventory of the alerts", "the shipping evidence"
    ("H", _rule(r"[sz](?=\(H)", _THINGS)),
    ("O", _rule(r"[sz](?=O)", _THINGS)),
    ("j", _rule(r"(?<![qgl:~-])[sz](?=j)", _THINGS)),
    # "per Ada", "from Gil or Hana", "thanks Bo", "Is Bo on cart?"
    ("v", _rule(r"vn(?:&n){0,9}", _NAME_ONLY)),
    ("A", _rule(r"An(?=:)", _NAME_ONLY)),
    ("b", _rule(r"(?:^|(?<=[.?\n,;]))bn", _NAME_ONLY)),
    ("W", _rule(r"(?:^|(?<=[.?\n,;]))Wn", _NAME_ONLY)),
    ("u", _rule(r"u(?:[&~]n){1,9}", _NAME_ONLY)),
    # "auth instead of reviews", "D-466 not D-828"
    ("x", _rule(rf"x[lL]?[sdz](?:{_LIST}[sdz]){{0,9}}(?![lL]n)", _REFUSED)),
)
_PERHAPS = re.compile(r"(?<=[qgn:~(&,lLm-])z(?=[.,;:?&~()\ncnHL-]|$)")
_NOUNS = re.compile(r"[TU][qfgho]")
_SLASH = re.compile(r"(?<=[sd])/(?=n)|(?<=n)/(?=[sd])")  # "cart/Ada", but "Ada/Bo"
_DO = re.compile(r"Q(?=T?[sz])")  # "do auth", but "do you"
_ASIDE_IN_BRACKETS = re.compile(r"(?<=[ni])\([^()sdz]{0,60}\)")

# --- Step 2: entries ----------------------------------------------------------------------------
_G = rf"[nie](?:{_LIST}[nie]){{0,30}}"
_O = rf"[sd](?:{_LIST}[sd]){{0,30}}"
_JOIN = r"[:~-]{1,2}\n?~?"
# An entry may not take what belongs to its neighbour: in "Ada: search, email: Bo" the second
# service is Bo's. A dash may also stand between two entries, hence the look beyond it.
_ENTRY = re.compile(
    rf"(?P<n1>(?<![vrxAu]){_G})(?:{_JOIN}|\((?={_O}[),&]))(?P<s1>{_O})(?!{_JOIN}{_G}(?!{_JOIN}{_O}))(?!{_LIST}[nie]?\()"
    rf"|(?P<s2>(?<![xqgf])(?<!s:){_O})(?:{_JOIN}|\((?={_G}[),&]))(?P<n2>{_G})(?!\)?[bVWtqfgmr]|\({_O}\))"
    rf"(?!{_JOIN}{_O}(?!{_JOIN}{_G}))"
    rf"|(?P<s3>(?:^|(?<=[,;.:&\n(mP-])){_O})(?:m?q?L|(?=[nie]))(?P<n3>{_G})(?=[,;.?)\n&(cvwAoye-]|$)"
)


_RANGE_IN_WORDS = re.compile(r"(?<![sdz])nLn(?=[q:])")
_BY_NEIGHBOURS = re.compile("[Nps]")
_ENDS = frozenset(["", *".,?;)\n-"])
_CALLED = frozenset(["", *":,~-&(qf"])
_PRONOUNS = frozenset(["it", "that one", "this one"])


@dataclass(slots=True)
class Found:
    """Something that a post asks, before the last word is known.

    Attributes
    ----------
        at: Position of the first target, in symbols.
        who: Names asked; the author's own is "" here.
        kind: What is asked.
        targets: Services or change ids, in order.
        negated: The post asks not to do it.
        corrects: It replaces what was said before.
    """

    at: int
    who: list[str]
    kind: Kind
    targets: list[str]
    negated: bool = False
    corrects: bool = False

    def pairs(self) -> list[tuple[str, str]]:
        """Who is asked for what: in order when the counts agree, otherwise everybody."""
        if len(self.who) == len(self.targets):
            return list(zip(self.who, self.targets, strict=True))
        if len(self.who) > 1 and len(self.targets) > 1:
            return []
        return [(name, target) for name in self.who for target in self.targets]


_SENTENCE_REST = re.compile(r"[^.?]*")
_ENTRY_READ = str.maketrans("niesd", "EEESS")
KIND_OF: dict[str, Kind] = {"s": "query", "d": "file"}
_FORM_OF_ENTRY = {"s1": "1", "n2": "2", "n3": "3"}


class Reading:
    """One post as symbols and words; finds what it asks, in steps 1 to 3."""

    def __init__(self, post: PostInRoom, words: Words) -> None:
        self.words = words
        self.found: list[Found] = []
        self.retracted_at = -1
        tokens = words.find(plain_text(post.post))
        if not FIRST_OF_PHRASE.isdisjoint(tokens):
            tokens = with_phrases(tokens)
        symbols = "".join([words[token] for token in tokens])
        if "n" not in symbols and "N" not in symbols:
            self.symbols, self.tokens = "", []
            return
        self.targets = words.target
        if "d" in symbols:
            symbols = self._with_changes(symbols, tokens, post)
        symbols = self._in_place(symbols, tokens)
        symbols = _ASIDE_IN_BRACKETS.sub(lambda m: "T" * len(m[0]), symbols)
        symbols = _NOUNS.sub("Tw", symbols)
        if "/" in symbols:
            symbols = _SLASH.sub(":", symbols).replace("/", "&")
        if "Q" in symbols:
            symbols = _DO.sub("q", symbols).replace("Q", "b")
        if "T" in symbols or "a" in symbols or "U" in symbols:
            kept = [k for k, c in enumerate(symbols) if c not in "TUa"]
            symbols = "".join([symbols[k] for k in kept])
            tokens = [tokens[k] for k in kept]
        if "nLn" in symbols:  # "Ada to Dee take ..."
            symbols = _RANGE_IN_WORDS.sub("n~n", symbols)
        if "n~n" in symbols:
            symbols, tokens = self._ranges(symbols, tokens)
        self.tokens = tokens
        self.raw = symbols
        for needs, apply in _RULES:
            if needs in symbols:
                symbols = apply(symbols)
        if "z" in symbols:
            symbols = _PERHAPS.sub("s", symbols).replace("z", "w")
        self.symbols = symbols

    def _with_changes(self, symbols: str, tokens: list[str], post: PostInRoom) -> str:
        """Keep the ids that are in the room's list; every id of the usual form when it is empty."""
        ids = {c.id.upper().replace("-", ""): c.id for c in post.changes}
        self.targets = dict(self.targets)
        out = list(symbols)
        for k, symbol in enumerate(symbols):
            if symbol == "d":
                token = tokens[k]
                known = ids.get(token.upper().replace("-", ""))
                if known is None and not ids and "-" in token and token == token.upper():
                    known = token
                if known is None:
                    out[k] = "w"
                else:
                    self.targets[token.lower()] = known
        return "".join(out)

    def _in_place(self, symbols: str, tokens: list[str]) -> str:
        """Decide what hangs on the neighbours alone: names in capitals, services that are verbs."""
        out = list(symbols)
        for found in _BY_NEIGHBOURS.finditer(symbols):
            k, symbol = found.start(), found[0]
            following = symbols[k + 1 : k + 2]
            if symbol == "N":
                out[k] = self._capitals(tokens, k, following)
            elif symbol == "s":
                if k + 1 < len(tokens) and tokens[k].lower() in SERVICES_THAT_ARE_VERBS:
                    out[k] = self._service_or_verb(symbols, tokens, k)
            elif following not in _ENDS and tokens[k].lower() not in _PRONOUNS:
                out[k] = "T"
        return "".join(out)

    def _capitals(self, tokens: list[str], k: int, following: str) -> str:
        """Whether a name in capitals is one: "GIL: cart" is, "the GIL lock" is not."""
        if following not in _CALLED and any(token != token.upper() for token in tokens):
            return "w"
        return "n" if self._who(tokens[k]) else "i"

    @staticmethod
    def _service_or_verb(symbols: str, tokens: list[str], k: int) -> str:
        """Return "o" for a service that is a verb here: "Bo, search for the cause"."""
        is_verb = (
            tokens[k + 1].lower() in AFTER_SUCH_A_VERB
            and (k == 0 or symbols[k - 1] in "n,ym.&;\n")
            and symbols[k + 2 : k + 3] not in ("n", "i")
        )
        return "o" if is_verb else "s"

    def _ranges(self, symbols: str, tokens: list[str]) -> tuple[str, list[str]]:
        """Write "Ada-Dee" out as the names from Ada to Dee."""
        order = self.words.order
        out, written = "", []
        for k, symbol in enumerate(symbols):
            if symbol == "~" and symbols[k - 1 : k] == "n" and symbols[k + 1 : k + 2] == "n":
                first, last = self._who(tokens[k - 1]), self._who(tokens[k + 1])
                a, b = order.index(first), order.index(last)
                between = order[a + 1 : b]
                out += "&" + "".join(self.words[name] + "&" for name in between)
                written.append("&")
                for name in between:
                    written += [name, "&"]
            else:
                out += symbol
                written.append(tokens[k])
        return out, written

    def _who(self, token: str) -> str:
        """The teammate that a token names; "" for the author and everybody else."""
        name = self.words.who.get(token.lower().removeprefix("@"), "")
        return "" if name.lower() == self.words.author else name

    def add(self, who: Iterable[int], kind: Kind, at: Sequence[int], **how: bool) -> None:
        names = [self._who(self.tokens[k]) for k in who]
        targets = [self.target(k) for k in at]
        self.found.append(Found(at[0], names, kind, targets, **how))

    # Step 2
    def entries(self) -> None:
        """Take the names and services joined by a mark out of the symbols."""
        parts: list[str] = []
        done = 0
        symbols = self.symbols
        for entry in _ENTRY.finditer(symbols):
            form = _FORM_OF_ENTRY[entry.lastgroup or ""]
            a, b = entry.span("n" + form)
            c, d = entry.span("s" + form)
            start, stop = entry.start(), max(b, d)
            parts += [symbols[done:start], symbols[start:stop].translate(_ENTRY_READ)]
            done = stop
            if self._is_status(start):
                continue
            who = [k for k in range(a, b) if symbols[k] in "nie"]
            kind, at = symbols[c], [k for k in range(c, d) if symbols[k] == symbols[c]]
            self.add(who, KIND_OF[kind], at, corrects=self.corrects(start))
        self.symbols = "".join(parts) + symbols[done:] if parts else symbols

    def _sentence(self, at: int) -> str:
        before = self.symbols[:at]
        start = max(before.rfind("."), before.rfind("?"))
        return before[start + 1 :]

    def _is_status(self, at: int) -> bool:
        """Whether the entry stands in a list of what has been done."""
        if "H" not in self.symbols and "F" not in self.symbols:
            return False
        before = self._sentence(at)
        said = max(before.rfind("H"), before.rfind("F"))
        return said > before.rfind("P") or self.so_far(at)

    def so_far(self, at: int) -> bool:
        """Whether the sentence ends in "so far", which makes a list of it."""
        return "F" in self.symbols and "F" in _SENTENCE_REST.match(self.symbols, at)[0]  # type: ignore[index]

    def corrects(self, at: int) -> bool:
        """Whether the sentence at `at` corrects what was said: "actually", "instead"."""
        if "K" not in self.symbols:
            return False
        return "K" in self._sentence(at) + _SENTENCE_REST.match(self.symbols, at)[0]  # type: ignore[index]

    def target(self, at: int) -> str:
        """The service or change id that the word at a position stands for."""
        word = self.tokens[at].lower()
        return self.targets.get(word) or nearest(word, self.words.services)[0] or word

    def replace(self, at: int, symbol: str) -> None:
        """Give those who were asked last the target at `at` in place of theirs."""
        kind = KIND_OF[symbol]
        before = [f for f in self.found if f.at < at and f.kind == kind]
        if before:
            last = max(before, key=lambda f: f.at)
            self.found.append(Found(at, last.who, kind, [self.target(at)], corrects=True))
