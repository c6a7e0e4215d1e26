"""The baseline tagger: it knows words and their order, and has learned nothing.

The idea: a post becomes a short string with one symbol per word or mark. "Gil: payments, I take
cart" is ``n:s,iqs``, where ``n`` is a teammate, ``i`` the author, ``s`` a service, ``q`` a verb
that asks for a query. Conventions that would be unwieldy on text are short patterns on that string.
Three steps use it; each keeps its length, so that a position always leads back to its word:

1. *Set aside* what orders nothing: what stands after "if" or "because", services that are the
   subject of a statement, names after "per" or "thanks", what somebody else is said to have said.
2. *Entries*: a name and a service joined by a mark ("Gil: payments", "payments - Gil").
3. *Clauses*: the rest is walked once from left to right, remembering who is addressed, whether an
   order or a claim has begun, and with which verb.

At last the last word wins: corrections and retractions work on what was found before them.

Every pattern is bounded in what it may repeat, and the walk looks at a symbol once, so the time is
linear in the length of the post. Words are looked up in tables that are kept per list of names and
services; no name and no service of any room stands in this file.
"""

from collections.abc import Sequence

from classifiers.directives import Change, Directive, PostInRoom
from classifiers.rules.clauses import walk
from classifiers.rules.reading import Found, Reading
from classifiers.rules.words import USUAL_ID, words_of


def _last_word(found: list[Found], retracted_at: int) -> tuple[Directive, ...]:
    """The directives that stand at the end of the post."""
    standing: set[Directive] = set()
    for item in sorted(found, key=lambda item: item.at):
        if item.at < retracted_at:
            continue
        pairs = item.pairs()
        new = {Directive(name, item.kind, target) for name, target in pairs if name}
        if item.negated:
            standing -= new
            continue
        if item.corrects:
            names, targets = {n for n, _ in pairs}, {t for _, t in pairs}
            standing = {
                d
                for d in standing
                if d.kind != item.kind or (d.teammate not in names and d.target not in targets)
            }
        standing |= new
    return tuple(sorted(standing))


class RulesTagger:
    """The baseline: tags posts by rules alone, without probabilities and without a model."""

    name = "rules"
    version = "1"

    def tag(self, posts: Sequence[PostInRoom]) -> list[tuple[Directive, ...]]:
        """The directives of every post: one tuple per post, sorted, without duplicates."""
        changes: tuple[Change, ...] = ()
        odd: tuple[str, ...] = ()
        tags = []
        for post in posts:
            if post.changes is not changes:  # posts of one room share the list
                changes = post.changes
                odd = tuple([c.id for c in changes if not USUAL_ID(c.id)])
            tags.append(_tag(post, odd))
        return tags


def _tag(post: PostInRoom, odd: tuple[str, ...]) -> tuple[Directive, ...]:
    """The directives of one post; `odd` are the change ids not of the form "D-466"."""
    reading = Reading(post, words_of(post.author, post.teammates, post.services, odd))
    if "n" not in reading.symbols:
        return ()
    reading.entries()
    walk(reading)
    return _last_word(reading.found, reading.retracted_at) if reading.found else ()
