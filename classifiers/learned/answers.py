"""The published questions, answered with the probabilities of directives.

The four questions allow a teammate one step, two services and one change. What the network knows is
finer: a probability for every directive. Taken as independent, they give every option's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from classifiers.directives import Directive, PostInRoom
from classifiers.questions import NONE, STEPS, Answer


def answers_from(post: PostInRoom, likely: Mapping[Directive, float]) -> dict[str, Answer]:
    """Answers to `questions_for(post)`, for the teammates that `likely` names.

    Parameters
    ----------
    likely : mapping
        Probability of each directive; what is missing has none.

    Examples
    --------
    >>> post = PostInRoom(1, "Ada", ("Bo",), ("cart", "auth"), (), "Bo: cart, maybe auth")
    >>> asked = answers_from(post, {Directive("Bo", "query", "cart"): 0.9})
    >>> asked["Bo.step"].choice, asked["Bo.service"].choice, asked["Bo.service2"].choice
    ('query', 'cart', 'none')
    """
    answers: dict[str, Answer] = {}
    ids = [change.id for change in post.changes]
    for name in dict.fromkeys(d.teammate for d in likely):
        queries, filings = (
            {d.target: p for d, p in likely.items() if d.teammate == name and d.kind == kind}
            for kind in ("query", "file")
        )
        query, file = (1 - prod(1 - p for p in some.values()) for some in (queries, filings))
        steps = dict.fromkeys(STEPS, 0.0)
        steps["query"] = query * (1 - file / 2)  # asked for both, one of them has to do
        steps["file"] = file * (1 - query / 2)
        steps["nothing"] = (1 - query) * (1 - file)
        answers[f"{name}.step"] = _answer(steps)
        answers[f"{name}.service"] = first = _one_of(queries, post.services)
        others = {target: p for target, p in queries.items() if target != first.choice}
        answers[f"{name}.service2"] = _one_of(others, post.services)
        answers[f"{name}.change"] = _one_of(filings, ids)
    return answers


def _one_of(likely: Mapping[str, float], options: Sequence[str]) -> Answer:
    """Which one it is: shared among the options as they are likely, none when none of them is."""
    some = 1 - prod(1 - p for p in likely.values())
    total = sum(likely.values())
    shares = {option: likely.get(option, 0.0) * (some / total if total else 0.0)
              for option in options}  # fmt: skip
    return _answer({**shares, NONE: 1 - some})


def _answer(probabilities: dict[str, float]) -> Answer:
    return Answer(max(probabilities, key=lambda option: probabilities[option]), probabilities)
