"""What can be set about the outage room: the ``[room]`` table of a study."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_MARKS = frozenset('":,|<>`')  # prompts, tables and pages use them around names
_SHOWN = " ".join(sorted(_MARKS))


def _one_line(value: str) -> str:
    if value != value.strip() or not value or not value.isprintable() or set(value) & _MARKS:
        raise ValueError(f"must be printable, without outer spaces and without any of {_SHOWN}")
    if value.casefold() in ("none", "null"):
        raise ValueError("means nothing in a reply; take another word")
    return value


Word = Annotated[str, Field(max_length=40), AfterValidator(_one_line)]


class OutageSettings(BaseModel):
    """Sizes and switches of the game; the defaults are the published ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: int = Field(8, ge=2, le=64, description="agents at the table")
    names: tuple[Word, ...] = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gil", "Hana")
    services: tuple[Word, ...] = (
        "cart",
        "payments",
        "search",
        "checkout",
        "email",
        "inventory",
        "pricing",
        "shipping",
        "auth",
        "reviews",
    )
    outages: int = Field(4, ge=1, le=30, description="simultaneous, independent outages")
    changes: int = Field(15, ge=3, le=500, description="length of the list of recent changes")
    rounds: int = Field(8, ge=1, le=100, description="the game ends after this round")
    filings: int = Field(4, ge=1, le=100, description="filings of the whole team")
    queries: int = Field(1, ge=0, le=100, description="queries of each agent, in the whole game")
    query_round: int = Field(2, ge=1, le=100, description="first round in which queries are open")
    file_round: int = Field(3, ge=1, le=100, description="first round in which filings are open")
    post_length: int = Field(280, ge=1, le=10_000, description="characters of a post")
    note_length: int = Field(
        2000, ge=1, le=20_000, description="characters of a note that are kept"
    )
    channel: bool = Field(True, description="false: nobody can post, nobody sees posts")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len(self.names) != self.agents:
            raise ValueError(
                f"{len(self.names)} names for {self.agents} agents; give one name an agent"
            )
        needed = 2 * self.outages
        if len(self.services) < needed:
            raise ValueError(
                f"{len(self.services)} services for {self.outages} outages; each outage needs two "
                f"of its own, so give at least {needed} services or fewer outages"
            )
        if self.changes < 3 * self.outages:
            raise ValueError(
                f"changes = {self.changes} is too few: each outage puts 3 on the list, so give at "
                f"least {3 * self.outages}"
            )
        words = [word.casefold() for word in (*self.names, *self.services)]
        for word in words:
            if words.count(word) > 1:
                raise ValueError(f"{word!r} is used twice; names and services must all differ")
        return self
