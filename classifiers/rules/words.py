"""From a post's text to its words, and from a word to its symbol.

Tables are kept per list of names and services, so a word is looked at closely once.
"""

import re
from bisect import bisect
from collections.abc import Callable
from functools import lru_cache

from classifiers.rules.vocabulary import BASE, FIRST_OF_PHRASE, PHRASE_WORDS


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Lower-case forms of these names are taken for the word, unless they stand behind an @.
_NAMES_THAT_ARE_WORDS = _set_of(
    "will mark grace may art rose bill sue max hope faith joy pat jack drew frank gene dean ray"
    " guy chase june april dawn iris ivy lily miles rich rob skip sky star summer victor wade"
)
# Services that are verbs too; "Bo, search for the cause" does not send Bo to search.
SERVICES_THAT_ARE_VERBS = _set_of("search email mail review order price ship cache log")
AFTER_SUCH_A_VERB = _set_of("for the through me us everyone everybody him her them our")
_NOT_A_TYPO = _set_of(
    "skipping stopping shopping chart charts card cards part parts carry care cat car orders older"
    " pricey printing review view views research starch mail emailed pay payer"
)
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTER = "[0-9A-Za-zÀ-ÖØ-öø-\u1fff]"
_WORD = rf"{_LETTER}+(?:'{_LETTER}+)*"
_CJK_WORDS = "|".join(sorted((w for w in BASE if re.match(f"[{_CJK}]", w)), key=len, reverse=True))
_NUMBERED = rf"-\d+(?!{_LETTER})"
USUAL_ID = re.compile(rf"[A-Za-z]{{1,8}}{_NUMBERED}").fullmatch
_MARK = (
    r"<-+>|\n\s*|[-=]+>|<-+|[:=→➜➔➡⇒👉：>←⟶▶]|[,、，;.!?。！？…|&+/()\[\]{}（）]"
    r"|[ \t][-–—~⸺]+(?=[ \t\n])|[-–—~⸺]+"
)

_STRUCK = re.compile(r"~~.{0,400}?~~", re.DOTALL)
_QUOTE_LINE = re.compile(r"^[ \t]*>[ \t].*$", re.MULTILINE)
_STAR = re.compile(r"^\*(?=[^\W_])(?![^\n]*\*)", re.MULTILINE)
_QUOTED = re.compile(
    r"""["\u201c\u00ab]([^"\u201c\u201d\u00ab\u00bb\n]{3,300})["\u201d\u00bb]|(?<!\w)'([^'\n]{3,300})'(?!\w)"""
)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–]|\(?\d{1,2}[.)])[ \t]+", re.MULTILINE)


def plain_text(text: str) -> str:
    """`text` without what is struck out or quoted, and without the marks of lists."""
    if "\u2019" in text:
        text = text.replace("\u2019", "'")
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if text.startswith("*") or "\n*" in text:
        text = _STAR.sub("correction ", text)
    if ">" in text:
        text = _QUOTE_LINE.sub("", text)
    if '"' in text or "'" in text or "\u201c" in text or "\u00ab" in text:
        text = _QUOTED.sub(_unquoted, text)
    if "\n" in text or text[:1] in "-*•–(1 ":
        text = _BULLET.sub("", text)
    if "|" in text and text.lstrip().startswith("|"):
        text = text.replace("|", ":")
    return text


def _unquoted(found: re.Match[str]) -> str:
    """A quoted word as it is; a quoted saying is not the author's, unless it is the post."""
    inner = found[1] or found[2]
    whole = len(found.string.strip()) == len(found[0])
    return inner if whole or (":" not in inner and inner.count(" ") < 2) else " \u2026 "


def with_phrases(tokens: list[str]) -> list[str]:
    """`tokens` with the words of a phrase, such as "instead of", made one."""
    merged: list[tuple[int, int]] = []
    for k in [k for k, token in enumerate(tokens) if token in FIRST_OF_PHRASE]:
        if merged and k < merged[-1][1]:
            continue
        words = tuple([word.lower() for word in tokens[k : k + 3]])
        if words in PHRASE_WORDS:
            merged.append((k, k + 3))
        elif words[:2] in PHRASE_WORDS:
            merged.append((k, k + 2))
    if not merged:
        return tokens
    out: list[str] = []
    done = 0
    for start, stop in merged:
        out += tokens[done:start]
        out.append(" ".join(tokens[start:stop]))
        done = stop
    return out + tokens[done:]


class Words(dict[str, str]):
    """Symbol of every word met in rooms with the same author, teammates and services.

    Attributes
    ----------
        find: Splits a text into its words and marks.
        target: The service that a word stands for.
        who: The name that a word stands for.
        order: The teammates in the room's name order; with the author where that can be told.
    """

    def __init__(
        self,
        author: str,
        teammates: tuple[str, ...],
        services: tuple[str, ...],
        odd_ids: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.author = author.lower()
        self.services = services
        self.target = {s.lower(): s for s in reversed(services)}
        self.who = {n.lower(): n for n in (*teammates, author)}
        self.odd_ids = {i.lower() for i in odd_ids}
        self.order = _with_author(teammates, author)
        firsts = [n.split()[0].lower() for n in self.who.values() if " " in n.strip()]
        for name in list(self.who.values()):
            first = (name.split() or [""])[0].lower()
            if firsts.count(first) == 1 and first.isalpha() and first not in BASE:
                self.who.setdefault(first, name)
        plain = re.compile(f"{_WORD}(?:{_NUMBERED})?")
        special = [w for w in (*self.who, *self.target, *self.odd_ids) if w.strip()]
        special = [w for w in special if not plain.fullmatch(w) or re.search(rf"[{_CJK}\d]", w)]
        special.sort(key=len, reverse=True)
        self.find = _splitter(tuple(dict.fromkeys(special)))

    def __missing__(self, word: str) -> str:
        symbol = self._symbol(word)
        if len(self) < 4_000:  # a long run meets ever new words and ids
            self[word] = symbol
        return symbol

    def _symbol(self, word: str) -> str:
        low = word.lower()
        if low[0] == "@":
            low = low[1:]
            return ("i" if low == self.author else "n") if low in self.who else "w"
        if low in self.who:
            return self._name(word, low)
        if low in self.target:
            return "s"
        if low in self.odd_ids:
            return "d"
        if low.endswith("'s") and low[:-2] in self.who:
            return "u"
        return BASE.get(low) or self._unknown(word, low)

    def _unknown(self, word: str, low: str) -> str:
        """The symbol of what is in no table: a drawn-out mark, an id, a misspelt service."""
        symbol = "w"
        if low[:1] in tuple(" \t\n-=<–—~⸺"):
            symbol = self._mark(word)
        elif re.fullmatch(r"[a-z]{1,8}-?\d+", low):
            symbol = "d"
        else:
            found, sure = nearest(low, self.services)
            if found is not None:
                symbol = "s" if sure else "z"
        return symbol

    def _name(self, word: str, low: str) -> str:
        name = self.who[low]
        if word == low != name and low in _NAMES_THAT_ARE_WORDS:
            return BASE.get(low, "w")
        if word.isupper() and len(word) > 2 and word not in name:
            return "N"  # "the ADA banner", or a post in capitals: decided in its place
        return "i" if name.lower() == self.author else "n"

    @staticmethod
    def _mark(word: str) -> str:
        if "\n" in word:
            return "." if word.count("\n") > 1 else "\n"
        if word.strip().startswith("<") and word.endswith(">"):
            return "&"
        if ">" in word or "<" in word:
            return ":"
        return "-" if word != word.strip() or word[0] != "-" else "~"


def _with_author(teammates: tuple[str, ...], author: str) -> list[str]:
    """The name order with the author in it, where the order is alphabetical either way."""
    names = list(teammates)
    if names == sorted(names):
        names.insert(bisect(names, author), author)
    elif names == sorted(names, reverse=True):
        names = sorted([*names, author], reverse=True)
    return names


@lru_cache(maxsize=1024)
def _splitter(special: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The function that splits a text; `special` are names and services of several words."""
    edge = _LETTER
    own = [
        (f"(?<!{edge})@?" if re.match(edge, w) else "@?")
        + re.escape(w)
        + (f"(?!{edge})" if re.match(edge, w[-1]) else "")
        for w in special
    ]
    parts = [f"(?i:{'|'.join(own)})"] if own else []
    parts += [r"\d+[:.]\d+", f"@?{_WORD}(?:{_NUMBERED})?", f"(?=[{_CJK}])(?:{_CJK_WORDS}|.)", _MARK]
    return re.compile("|".join(parts)).findall


@lru_cache(maxsize=4096)
def words_of(
    author: str, teammates: tuple[str, ...], services: tuple[str, ...], odd_ids: tuple[str, ...]
) -> Words:
    return Words(author, teammates, services, odd_ids)


@lru_cache(maxsize=8192)
def nearest(word: str, services: tuple[str, ...]) -> tuple[str | None, bool]:
    """The one service that `word` may stand for, and whether it is surely meant."""
    if len(word) < 3 or len(word) > 40 or word in _NOT_A_TYPO or not word[0].isalpha():
        return None, False
    typos = [s for s in services if _is_typo(word, s.lower())]
    if len(typos) == 1:
        return typos[0], True
    short = [s for s in services if _is_short(word, s.lower())]
    return (short[0], False) if len(short) == 1 else (None, False)


def _is_typo(word: str, service: str) -> bool:
    """Whether one slip of the keys leads from `service` to `word`."""
    n, m = len(service), len(word)
    if n < 4 or abs(n - m) > 1:
        return False
    if n == m:
        wrong = [k for k in range(n) if word[k] != service[k]]
        if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
            a, b = wrong
            return word[a] == service[b] and word[b] == service[a]
        return len(wrong) == 1 and n >= 6 and wrong[0] > 0
    long, short = (service, word) if n > m else (word, service)
    if long[0] != short[0] or (n < 5 and long != short + "s"):
        return False
    return any(long[:k] + long[k + 1 :] == short for k in range(1, len(long)))


def _is_short(word: str, service: str) -> bool:
    """Whether `word` abbreviates `service`: its beginning, or its consonants."""
    if len(service) <= len(word):
        return False
    if service.startswith(word):
        return True
    if word[0] != service[0] or set(word[1:]) & set("aeiou"):
        return False
    letters = iter(service)
    return all(letter in letters for letter in word)
