"""From a post's text to its packed tokens.

A spelling is looked at closely once for all rooms with the same people and services; who is the
author, and which changes are listed, is filled in post by post. A range of names ("Ada-Dee")
becomes the names that it covers.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import lru_cache

from classifiers.directives import PostInRoom
from classifiers.learned.forms import Services, name_like
from classifiers.learned.tokens import (
    KIND_BITS,
    MOST_REFS,
    PARTS,
    TOKEN,
    USUAL_ID,
    WORD_BITS,
    WORD_OF,
    Form,
    Kind,
    Vocabulary,
    packed,
    part_of,
)

_MOST_KEPT = 20_000  # spellings a room
_MOST_LISTS = 4096
_WORD, _REF, _FORM, _ENDING = (PARTS[part][0] for part in ("word", "ref", "form", "ending"))
_DIGITS = re.compile(r"\d+")
_USUAL_IDS = re.compile(rf"(?:{USUAL_ID.pattern}(?: |$))*")


class RoomWords(dict[str, int]):
    """Packed token of every spelling met in rooms with the same people and services.

    Everybody is a teammate here, numbered as in `people`; every id is another id.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        people: tuple[str, ...],
        services: tuple[str, ...],
        odd_ids: tuple[str, ...],
        like: Services,
    ) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._names = [name.lower() for name in people]
        self._name = _numbered(self._names)
        lower = [service.lower() for service in services]
        self._service = _numbered(lower)
        self._like = like
        self._odd_ids = frozenset(change.lower() for change in odd_ids)
        self._plain = like.plain
        self._own = self._odd_ids.union(self._names)
        own = (*self._names, *lower, *self._odd_ids)
        self.find = _splitter(tuple(w for w in own if w and not re.fullmatch(TOKEN, w)))

    def __missing__(self, text: str) -> int:
        plain = self._plain.get(text)
        if plain is None or plain[0] in self._own or plain[1] in self._own:
            token = self._token(text)
        else:
            token = plain[2]
        if len(self) < _MOST_KEPT:
            self[text] = token
        return token

    def _token(self, text: str) -> int:
        low, core, ending, marks, alone = self._vocabulary.spelling(text)
        if low in self._odd_ids:
            return marks | packed(kind=Kind.OTHER_ID, word=WORD_OF[Kind.OTHER_ID])
        for word, end in ((low, 0), (core, ending)):
            if word in self._name:
                return marks | _refer(Kind.TEAMMATE, self._name[word], ending=end)
            if word in self._service:
                return marks | _refer(Kind.SERVICE, self._service[word], ending=end)
        if not low[0].isalpha() or alone & KIND_BITS != Kind.WORD:
            return alone
        common = self._vocabulary.common
        if low[-1] == "s" and low[:-1] in self._name and low not in common:
            return marks | _refer(Kind.TEAMMATE, self._name[low[:-1]], ending=1)
        like = self._like[core]
        if like is not None and like[1] is Form.TYPO and core not in common:
            return marks | _refer(Kind.SERVICE, like[0], Form.TYPO, ending)
        name = None if core in common else name_like(core, self._names)
        if name is not None:
            return marks | _refer(Kind.TEAMMATE, name, Form.TYPO, ending)
        if like is not None:
            form = Form.START if like[1] is Form.START else Form.SHORT
            alone |= packed(kind=Kind.SERVICE, ref=like[0], form=form, ending=ending)
        if low in common and core in common and len(self._plain) < _MOST_KEPT:
            self._plain[text] = (low, core, alone)  # only somebody's very name makes it another
        return alone


def _refer(kind: Kind, ref: int, form: Form = Form.EXACT, ending: int = 0) -> int:
    return kind | ref << _REF | form << _FORM | ending << _ENDING | WORD_OF[kind] << _WORD


def _numbered(words: Sequence[str]) -> dict[str, int]:
    """Position of every word; the first counts. What has no number cannot be referred to."""
    return {word: k for k, word in reversed([*enumerate(words)][:MOST_REFS])}


def _plain(text: str) -> str:
    """`text` without the marks that only choose how an emoji is drawn."""
    return text.replace("\ufe0f", "") if "\ufe0f" in text else text


def _in_order(post: PostInRoom) -> list[str]:
    """The name order with the author in it, where the order is alphabetical either way."""
    names = list(post.teammates)
    if names == sorted(names):
        at = bisect(names, post.author)
        return [*names[:at], post.author, *names[at:]]
    if names == sorted(names, reverse=True):
        return sorted([*names, post.author], reverse=True)
    return names


@lru_cache(maxsize=1024)
def _splitter(own: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The function that splits a text; `own` are the room's words that are more than one token."""
    first = "".join(
        f"(?i:{re.escape(word)})(?!\\w)|" for word in sorted(set(own), key=len, reverse=True)
    )
    return re.compile(rf"[ \t]?(?:{first}{TOKEN})").findall


class _Changes(dict[str, int]):
    """Packed kind, reference, form and word of every id met beside one list of changes."""

    def __init__(self, ids: tuple[str, ...]) -> None:
        super().__init__()
        self.odd: tuple[str, ...] = ()
        if not _USUAL_IDS.fullmatch(" ".join(ids).lower()):
            self.odd = tuple([change for change in ids if not USUAL_ID.fullmatch(change.lower())])
        self._ids = ids
        self._listed: dict[str, int] | None = None  # made when an id is met: most posts have none
        self._digits: dict[str, list[int]] = {}

    def _made(self) -> dict[str, int]:
        listed = self._listed = _numbered([change.lower() for change in self._ids])
        for change, number in listed.items():
            for digits in _DIGITS.findall(change)[-1:]:
                self._digits.setdefault(digits, []).append(number)
        return listed

    def __missing__(self, spelling: str) -> int:
        low = spelling.strip(" \t@").lower()
        listed = self._made() if self._listed is None else self._listed
        number, form = listed.get(low), Form.EXACT
        if number is None:
            digits = _DIGITS.findall(low)[-1:]
            meant = self._digits.get(digits[0], ()) if digits and len(digits[0]) > 1 else ()
            if len(meant) == 1:
                number, form = meant[0], Form.START if low.isdecimal() else Form.TYPO
        token = -1 if number is None else _refer(Kind.CHANGE, number, form)
        self[spelling] = token
        return token


_TEAMMATE, _OTHER_ID = int(Kind.TEAMMATE), int(Kind.OTHER_ID)
_REST = ~sum((1 << PARTS[part][1]) - 1 << PARTS[part][0] for part in ("kind", "ref", "word"))
_REST_OF_ID = _REST & ~((1 << PARTS["form"][1]) - 1 << PARTS["form"][0])


def _who(post: PostInRoom, token: int) -> str | None:
    """The person that a token names."""
    if token & KIND_BITS == Kind.AUTHOR:
        return post.author
    return post.teammates[part_of(token, "ref")] if token & KIND_BITS == _TEAMMATE else None


class Reader:
    """Splits posts, remembering what it learned of each room's words."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._rooms: dict[tuple[object, ...], RoomWords] = {}
        self._seats: dict[tuple[object, ...], tuple[tuple[str, ...], list[int]]] = {}
        self._changes: dict[tuple[str, ...], _Changes] = {}
        self._like: dict[tuple[str, ...], Services] = {}
        self._joints = frozenset(word << _WORD for word in vocabulary.joints)
        self._dash = vocabulary["<dash>"] << _WORD

    def tokens(self, post: PostInRoom) -> list[int]:
        """Packed tokens of a post."""
        changes = self._listed(post)
        people, seats = self._seated(post)
        room = self._room(people, post.services, changes.odd)
        spelled = room.find(_plain(post.post))
        found = [room[spelling] for spelling in spelled]
        known, ranges = self._joints, []
        for at in [k for k, t in enumerate(found) if t & KIND_BITS or t & WORD_BITS in known]:
            token = found[at]
            kind = token & KIND_BITS
            if not kind:
                ranges.append(at)
            elif kind == _TEAMMATE:
                found[at] = token & _REST | seats[token >> _REF & MOST_REFS - 1]
            elif kind == _OTHER_ID:
                listed = changes[spelled[at]]
                if listed >= 0:
                    found[at] = token & _REST_OF_ID | listed
        return self._ranged(post, found, ranges) if ranges else found

    def spelled(self, post: PostInRoom) -> list[tuple[str, int]]:
        """Every spelling of a post with its packed token, before anybody is told apart."""
        room = self._room(self._seated(post)[0], post.services, self._listed(post).odd)
        return [(spelling, room[spelling]) for spelling in room.find(_plain(post.post))]

    def _listed(self, post: PostInRoom) -> _Changes:
        ids = tuple([change.id for change in post.changes])
        known = self._changes.get(ids)
        if known is None:
            if len(self._changes) > _MOST_LISTS:
                self._changes.clear()
            known = self._changes[ids] = _Changes(ids)
        return known

    def _seated(self, post: PostInRoom) -> tuple[tuple[str, ...], list[int]]:
        """Everybody by name, and how the post's author sees each."""
        key = (post.author, post.teammates)
        known = self._seats.get(key)
        if known is None:
            if len(self._seats) > _MOST_LISTS:
                self._seats.clear()
            people = tuple(sorted((post.author, *post.teammates)))
            seats = [
                _refer(Kind.AUTHOR, 0)
                if person == post.author
                else _refer(Kind.TEAMMATE, post.teammates.index(person))
                for person in people[:MOST_REFS]
            ]
            known = self._seats[key] = (people, seats)
        return known

    def _room(
        self, people: tuple[str, ...], services: tuple[str, ...], odd: tuple[str, ...]
    ) -> RoomWords:
        key = (people, services, odd)
        room = self._rooms.get(key)
        if room is None:
            if len(self._rooms) > 256:
                self._rooms.clear()
            like = self._like.get(services)  # shared: looking for forms is what takes time
            if like is None:
                if len(self._like) > 256:
                    self._like.clear()
                lower = [service.lower() for service in services]
                like = self._like[services] = Services(lower, self.vocabulary.common)
            room = self._rooms[key] = RoomWords(self.vocabulary, people, services, odd, like)
        return room

    def _ranged(self, post: PostInRoom, found: list[int], joints: list[int]) -> list[int]:
        """`found` with each range of names, around a token of `joints`, written out."""
        out = found
        for at in reversed(joints):
            if not 0 < at < len(found) - 1:
                continue
            first, last = found[at - 1], found[at + 1]
            ends = [_who(post, token) for token in (first, last)]
            apart = (found[at] | last) >> PARTS["space"][0] & 1
            if None in ends or (apart and found[at] & WORD_BITS == self._dash):
                continue
            between = self._between(post, str(ends[0]), str(ends[1]))
            if between:
                out = [*out[:at], *between, *out[at + 1 :]]
        return out

    def _between(self, post: PostInRoom, first: str, last: str) -> list[int]:
        """Packed names that stand between two others in the room's order."""
        order = _in_order(post)
        if first not in order or last not in order:
            return []
        names = order[order.index(first) + 1 : order.index(last)]
        people, seats = self._seated(post)
        return [seats[people.index(name)] for name in names]
