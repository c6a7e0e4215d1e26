"""Which service or teammate a word may stand for when it is not spelled as in the room.

People write "inv", "pmts", "chkout", "serach". Here a word is only *offered* as a form of a
service; whether it is one in its sentence is for the network to say, so the tests are generous.
Words are in lower case, and most tests take the first letter to be right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from classifiers.learned.tokens import Form

_VOWELS = frozenset("aeiou")
_RUN, _DRAWN_OUT = re.compile(r"(.)\1+"), re.compile(r"(.)\1\1")


class Services(dict[str, tuple[int, Form] | None]):
    """Position of the one service that a word may stand for, and how; None for none.

    Parameters
    ----------
    services : sequence of str
        In lower case.
    common : frozenset of str
        Ordinary words; a short one is not the start of a service.

    Attributes
    ----------
    plain : dict
        Spellings of ordinary words that rooms with these services met: in lower case, without its
        ending, packed.
    """

    def __init__(self, services: Sequence[str], common: frozenset[str]) -> None:
        super().__init__()
        self._common = common
        self.plain: dict[str, tuple[str, str, int]] = {}
        self._first: dict[str, list[tuple[int, str]]] = {}
        self._ends: dict[str, list[int]] = {}
        self._parts: dict[str, list[int]] = {}
        for number, service in enumerate(services):
            self._first.setdefault(service[:1], []).append((number, service))
            for at in range(len(service) - 3 if len(service) >= 5 else 0):
                self._ends.setdefault(service[at:], []).append(number)
            parts = service.split("-") if "-" in service else ()
            for part in {part for part in parts if len(part) >= 3}:
                self._parts.setdefault(part, []).append(number)

    def __missing__(self, word: str) -> tuple[int, Form] | None:
        like = self._like(word) if len(word) > 1 else None
        self[word] = like
        return like

    def _like(self, word: str) -> tuple[int, Form] | None:
        same = self._first.get(word[0], ())
        short = len(word) < 3 and word in self._common
        for form, fits, among in (
            (Form.TYPO, _typo_of, same),
            (Form.START, _start_of, () if short else same),
            (Form.SHORT, _short_of, same),
            (Form.SHORT, _inflection_of, same),
        ):
            found = [number for number, service in among if fits(word, service)]
            if len(found) == 1:
                return found[0], form
        for form, places in ((Form.SHORT, self._ends), (Form.TYPO, self._parts)):
            found = places.get(word, [])
            if len(found) == 1:
                return found[0], form
        return None


def name_like(word: str, names: Sequence[str]) -> int | None:
    """Position of the one name that `word` is a slip of the keys away from, or drawn out of."""
    if len(word) < 3:
        return None
    if _DRAWN_OUT.search(word):
        short = _RUN.sub(r"\1", word)
        found = [k for k, name in enumerate(names) if _RUN.sub(r"\1", name) == short]
        if len(found) == 1:
            return found[0]
    found = [
        k
        for k, name in enumerate(names)
        if len(name) >= 3
        and (word[0] == name[0] or word[0] == name[1])
        and one_slip(word, name)
        and (word[0] == name[0] or sorted(word) == sorted(name))
    ]
    return found[0] if len(found) == 1 else None


def one_slip(a: str, b: str) -> bool:
    """Whether `a` and `b` are the same but for one letter added, lost, changed or swapped."""
    if abs(len(a) - len(b)) > 1:
        return False
    if len(a) == len(b):
        wrong = [k for k in range(len(a)) if a[k] != b[k]]
        if len(wrong) <= 1:
            return True
        first, *rest = wrong
        return rest == [first + 1] and a[first] == b[first + 1] and a[first + 1] == b[first]
    long, short = (a, b) if len(a) > len(b) else (b, a)
    return any(long[:k] + long[k + 1 :] == short for k in range(len(long)))


def _within(word: str, service: str) -> bool:
    """Whether the letters of `word` stand in `service` in that order."""
    letters = iter(service)
    return all(letter in letters for letter in word)


def _typo_of(word: str, service: str) -> bool:
    return len(word) >= 4 <= len(service) and one_slip(word, service)


def _start_of(word: str, service: str) -> bool:
    return len(service) > len(word) and service.startswith(word)


def _short_of(word: str, service: str) -> bool:
    if len(word) < 3 or len(service) <= len(word):
        return False
    bare = not _VOWELS & set(word[1:])
    if _within(word, service):
        return len(word) >= 4 or bare
    return bare and word.endswith("s") and _within(word[:-1], service)


def _inflection_of(word: str, service: str) -> bool:
    stem = word.rstrip("es") if len(word) > 4 else word
    return len(stem) >= 4 and service.startswith(stem)
