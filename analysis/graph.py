"""Who moves whom, as a graph."""

from __future__ import annotations

import networkx as nx

from analysis.summary import surrogates_of
from swarm.log.store import Log


def influence_graph(
    log: Log, *, tagger: str, schedule: str, by: str = "name", room: str | None = None
) -> nx.DiGraph[str]:
    """The influence graph of a room, or of all rooms together.

    Parameters
    ----------
    by : {"name", "model"}
        What the nodes are.
    room : str, optional
        One room; None adds up all of them.

    Returns
    -------
    networkx.DiGraph
        An edge from author to follower for every pair with a followed directive; ``weight`` is the
        sum of weights, ``followed`` their number.

    Raises
    ------
    ValueError
        When `by` is neither.
    """
    if by not in ("name", "model"):
        raise ValueError(f"by={by!r}: give 'name' or 'model'")
    graph: nx.DiGraph[str] = nx.DiGraph(agents="surrogate agents" if surrogates_of(log) else "")
    for (node,) in log.rows(
        f"SELECT DISTINCT {by} FROM seats WHERE $1 IS NULL OR room = $1 ORDER BY 1", [room]
    ):
        graph.add_node(node)
    for author, follower, weight, followed in log.rows(
        f"SELECT a.{by}, f.{by}, sum(i.weight), count(*) FROM influences i "
        "JOIN seats a ON a.room = i.room AND a.seat = i.seat "
        "JOIN seats f ON f.room = i.room AND f.seat = i.teammate "
        "WHERE i.tagger = $1 AND i.schedule = $2 AND ($3 IS NULL OR i.room = $3) "
        "GROUP BY ALL ORDER BY ALL",
        [tagger, schedule, room],
    ):
        graph.add_edge(author, follower, weight=weight, followed=followed)
    return graph
