"""The books of live calls: what was sent, what came back, what it cost.

A reply is in the journal before anything else happens; the log commits it a little later. So after
a kill the same command finds every reply that came, and pays again at most for those that were
under way.

A kill also leaves money in doubt: calls under way may be billed without a row. So before more money
is put at risk than ever before in this run, the larger amount is booked (an *allowance*); a run
that did not end in order is taken to have lost its allowance.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from functools import partial
from typing import Any

from swarm.log.journal import Journal, journal_of
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of
from swarm.log.writer import Writer
from swarm.models.base import Draw, Reply
from swarm.models.faults import CallFailed
from swarm.models.settings import ModelSettings, Price
from swarm.models.transport import unusable
from swarm.prompt import Prompt
from swarm.scenario import Rows

_REPLY = (
    "reply, reasoning, tokens_in, tokens_cached, tokens_out, tokens_reasoning, cost, latency, "
    "served_by, fingerprint"
)


def call_key(
    identity: str, parameters: dict[str, Any], prompt: Prompt, draw: Draw, seed: int
) -> str:
    """The name of a call: the same model, parameters, prompt and draw have the same one.

    Parameters
    ----------
    identity : str
        The model's name at its provider.
    """
    blocks = [b.id for b in prompt.system], [b.id for b in prompt.turn]
    whole = json.dumps([identity, parameters, blocks, draw.fields(), seed], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


class Ledger:
    """The calls of a log.

    Parameters
    ----------
    writer : Writer
        Of the same log.
    """

    def __init__(self, log: Log, writer: Writer) -> None:
        self._log = log
        self._writer = writer
        self._journal = Journal(journal_of(log.path))
        _take_over(log, self._journal.entries())
        self._stored = _unused_replies(log)
        self._run = 1 + log.value("SELECT coalesce(max(run), 0) FROM allowances")
        self._allowed = 0.0

    def spent(self) -> float:
        """US dollars of all runs so far: paid, assumed, and lost in runs that were killed."""
        return float(
            self._log.value(
                "SELECT (SELECT coalesce(sum(coalesce(cost, 0) + assumed), 0) FROM calls) + "
                "(SELECT coalesce(sum(amount), 0) FROM losses)"
            )
        )

    def stored(self, key: str) -> Reply | None:
        """The reply to a call that was paid for and never used; given once."""
        return self._stored.pop(key, None)

    def price_of(self, name: str, settings: ModelSettings) -> Price | None:
        """The price of a model: the study's, else the one copied before, else litellm's."""
        held = self._log.rows(
            "SELECT input, cached, output, source FROM prices WHERE model = ?", [name]
        )
        if settings.price is not None:
            price, source = settings.price, "study"
        elif held:
            return Price(input=held[0][0], cached=held[0][1], output=held[0][2])
        else:
            from swarm.models.litellm_path import listed_price

            listed = listed_price(settings.model)
            if listed is None:
                return None
            price = Price(input=listed[0], cached=listed[1], output=listed[2])
            source = "litellm"
        row = (name, price.input, price.cached, price.output, source)
        if (*held[0],) != row[1:] if held else True:
            drop = f"DELETE FROM prices WHERE model = '{name.replace(chr(39), chr(39) * 2)}'"
            commit(self._log.con, batch_of({"prices": [row]}), first=(drop,))
        return price

    def allow(self, amount: float) -> None:
        """See to it that the books know: calls under way may cost `amount` US dollars together."""
        if amount > self._allowed:
            self._allowed = 2 * amount
            self.keep({"allowances": [(self._run, self._allowed, False)]})

    async def close(self, *, in_order: bool) -> None:
        """Wait until the log holds everything.

        Parameters
        ----------
        in_order : bool
            Nothing is under way any more.
        """
        held = False
        try:
            if in_order and self._allowed:
                self.keep({"allowances": [(self._run, self._allowed, True)]})
            await asyncio.to_thread(self._writer.flush)
            held = True
        finally:
            self._journal.close(remove=held)

    def book(
        self,
        key: str,
        draw: Draw,
        model: str,
        sent: dict[str, Any],
        *,
        reply: Reply | None,
        finish: str | None,
        faults: list[tuple[CallFailed, float]],
        assumed: float,
        seconds: float,
    ) -> None:
        """Write a call that ended; a kill does not lose it.

        Parameters
        ----------
        reply : Reply or None
            None when every try failed.
        faults : list of (CallFailed, float)
            Failed tries in order, with the seconds each took.
        assumed : float
            US dollars that failed tries may have cost.
        """
        row: tuple[Any, ...] = (
            key,
            *draw.fields(),
            model,
            json.dumps(sent, sort_keys=True),
            "failed" if reply is None else "ok",
            str(faults[-1][0].fault) if reply is None and faults else None,
            len(faults) + (reply is not None),
            finish,
        )
        if reply is None:
            row += (None,) * 7 + (assumed, None, seconds, None, None)
        else:
            row += (
                reply.text,
                reply.reasoning,
                reply.tokens_in,
                reply.tokens_cached,
                reply.tokens_out,
                reply.tokens_reasoning,
                reply.cost,
                assumed,
                reply.latency,
                seconds,
                reply.served_by,
                reply.fingerprint,
            )
        rows = {"calls": [row]}
        if faults:
            rows["faults"] = [
                (
                    *(key, draw.stage, draw.room, model, number, str(failed.fault)),
                    *(failed.status, failed.code, failed.retry_after, took),
                )
                for number, (failed, took) in enumerate(faults, 1)
            ]
        self.keep(rows)

    def keep(self, rows: Rows) -> None:
        """Write what must not be lost with the process: to the journal now, to the log soon."""
        number = self._journal.add(rows)
        self._writer.put_durably(rows, partial(self._journal.committed, number))


def _take_over(log: Log, entries: list[Rows]) -> None:
    """Put rows of a journal into the log, but for those that it holds (a kill between the two)."""
    whole: Rows = {}
    for entry in entries:
        for table, rows in entry.items():
            whole.setdefault(table, []).extend(rows)
    if whole:
        log.add_missing(batch_of(whole))


def _unused_replies(log: Log) -> dict[str, Reply]:
    """Replies that were paid for and are in no finished turn, tag or replay yet, by key."""
    found = log.rows(
        f"SELECT key, finish, {_REPLY} FROM calls c WHERE status = 'ok' AND CASE stage "
        "WHEN 'play' THEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.room = c.room "
        "AND t.round = c.round AND t.seat = c.seat) "
        "WHEN 'tag' THEN NOT EXISTS (SELECT 1 FROM answers a WHERE a.room = c.room "
        "AND a.round = c.round AND a.seat = c.seat AND a.model = c.model "
        "AND a.attempts > c.attempt) "
        "WHEN 'replay' THEN NOT EXISTS (SELECT 1 FROM replays r WHERE r.room = c.room "
        "AND r.round = c.round AND r.seat = c.seat AND r.removed = c.removed "
        "AND r.replicate = c.replicate) ELSE false END"
    )
    return {key: replace(Reply(*fields), failed=unusable(finish)) for key, finish, *fields in found}
