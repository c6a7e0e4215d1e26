"""Step 3: the rest of a post is walked once, sentence by sentence."""

from collections.abc import Callable

from classifiers.rules.reading import KIND_OF, Reading

_WORTH_A_WALK = frozenset("sdpR")


class _Walk:
    """What has been read of a sentence while its symbols are walked from left to right.

    Attributes
    ----------
        asked: Positions of those who are spoken to or about.
        open: A further name would join them.
        mode: "" nothing yet, "order", "claim", or "entry" when their entry has been taken already.
        verb: "q", "f", "o" or "" for none; `verb_at` is its position.
        got: Targets found since `asked` was set, each with whether it is negated.
        claims: A claim was made in this sentence; "Gil is on pricing, Dee on cart" is two of them.
        carried: `asked` comes from the sentence before.
        inside: The verb has its target already; `last` is the position of the latest one.
        lead: A word such as "let" began an order before anybody was named.
        wish: So did "rather", after which "took" is no report.
        negated: A "not" is in force.
        fixed_at: Where a correction such as "no wait" began.
        praise, status, plan: The sentence thanks, lists what was done, or lays out a plan.
    """

    __slots__ = (
        "asked", "carried", "claims", "fixed_at", "got", "inside", "last", "lead", "mode",
        "negated", "open", "plan", "praise", "reading", "status", "symbols", "verb", "verb_at",
        "wish",
    )  # fmt: skip

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.symbols = reading.symbols
        self.asked: list[int] = []
        self.got: list[tuple[int, bool]] = []
        self.plan = self.status = self.carried = False
        self.restart()

    def restart(self) -> None:
        """Forget the sentence, not who was asked in it."""
        self.claims = self.praise = self.wish = self.lead = self.negated = False
        self.open = self.inside = False
        self.mode = self.verb = ""
        self.verb_at = self.last = self.fixed_at = -99

    def near(self, k: int, of: str) -> bool:
        """Whether the symbol before `k` is one of `of`."""
        return k > 0 and self.symbols[k - 1] in of

    def flush(self) -> None:
        """Hand over what was found for those asked."""
        if self.got and self.asked:
            for symbol, kind in KIND_OF.items():
                for negated in (False, True):
                    at = [
                        k for k, no in self.got if no == negated and self.reading.raw[k] == symbol
                    ]
                    if at:
                        corrects = self.reading.corrects(at[0])
                        self.reading.add(self.asked, kind, at, negated=negated, corrects=corrects)
        self.got = []

    def name(self, k: int, symbol: str) -> None:
        """Somebody is named: one more of a list, an addressee at the end, or a new one."""
        following = self.symbols[k + 1 : k + 2]
        speaks = symbol == "i" and self.near(k, ",") and following in tuple("qfgmbVWt")
        if self.open and self.asked and self.near(k, ",&~n") and not speaks:
            self.asked.append(k)
            return
        if self.got and symbol == "n" and (not self.asked or (self.carried and self.near(k, ","))):
            after = self.symbols[k + 2 : k + 3]
            if following not in tuple("qfgmbVWtk") and not (following in ":~-" and after in "sd"):
                self.asked = [k]
                self.flush()
                self.mode, self.verb, self.carried = "entry", "", False
                return
        if self.got:
            self.flush()
        self.asked = [k]
        self.carried = False
        if symbol == "i":  # "To avoid doubles I suggest ..."
            self.negated = False
        self.open = symbol != "E"
        self.inside = False
        self.mode = "entry" if symbol == "E" else "order" if self.lead and self.near(k, "m") else ""
        self.verb = ""

    def target(self, k: int, symbol: str) -> None:
        """A service or a change is named; it counts if the words before it ask for it."""
        self.open = False
        if (
            k - self.fixed_at <= 4
            and not self.verb
            and set(self.symbols[self.fixed_at : k]) <= set("Kx,:-&")
        ):
            self.reading.replace(k, symbol)
            return
        if self.wanted(k, symbol):
            self.got.append((k, self.negated))
            self.last, self.inside = k, True

    def wanted(self, k: int, symbol: str) -> bool:
        """Whether the target at `k` is asked for."""
        if self.mode == "claim" or self.verb == "o":
            return False
        between = self.symbols[self.last + 1 : k] if k - self.last <= 3 else "?"
        listed = bool(between) and not between.strip(",&")
        if not self.verb:
            return symbol == "s" and self.mode != "entry" and (listed or self.bare(k))
        if _KIND_OF_VERB[self.verb] != symbol:
            if self.verb == "q" and not self.inside:
                self.verb = "o"  # to look at a change is not to file it
            return False
        return listed or (not self.inside and k - self.verb_at <= 6)

    def bare(self, k: int) -> bool:
        """Whether a service without a verb is asked for: "Bo cart", "Bo on cart"."""
        if not self.asked or self.status or ((self.claims or self.praise) and self.mode == ""):
            return False
        if self.reading.so_far(k):
            return False
        before = self.symbols[k - 1]
        two = self.symbols[k - 2 : k - 1]
        if before == "l":
            return two in tuple("nem:q&")
        if before in ":-~(":
            return two in tuple("nm)") or (self.mode == "order" and k - self.asked[-1] <= 6)
        if before == ";":  # "not reviews but auth"
            return "X" in self.symbols[max(0, k - 4) : k - 1]
        if before == ",":
            return two == "n" and self.symbols[k + 1 : k + 2] in ("", ".", "?", "m", ";", "\n")
        return before in "nm" or (before == "L" and two == "n")

    def pronoun(self, k: int, symbol: str) -> None:
        """ "it" stands for the one service, or change, of the last sentence that has one."""
        if self.verb not in ("q", "f") or self.mode == "claim" or self.inside:
            return
        of = _KIND_OF_VERB[self.verb]
        raw = self.reading.raw
        at = raw.rfind(of, 0, k)
        if at < 0 or k - self.verb_at > 4:
            return
        start = max(raw.rfind(".", 0, at), raw.rfind("?", 0, at)) + 1
        names = {self.reading.target(j) for j in range(start, at + 1) if raw[j] == of}
        if len(names) == 1:
            self.got.append((at, self.negated))
            self.last, self.inside = k, True

    def asking_verb(self, k: int, symbol: str) -> None:
        """A verb that asks for a query or a filing, unless a claim has begun."""
        self.open = False
        if self.mode == "claim":
            if not self.near(k, ",;&"):
                return
            if self.claims:
                return
        self.mode = "order"
        self.verb, self.verb_at = symbol, k
        self.inside = False

    def gerund(self, k: int, symbol: str) -> None:
        """ "checking": part of an order that has begun, otherwise what somebody is doing."""
        if self.mode == "order" or (self.plan and self.mode == ""):
            self.asking_verb(k, "q" if symbol == "g" else "f")
        else:
            self.claim(k, symbol)

    def past(self, k: int, symbol: str) -> None:
        """ "took": a report, or a wish after "rather"."""
        if self.wish:
            self.asking_verb(k, "q")
        else:
            self.claim(k, symbol)

    def other_verb(self, k: int, symbol: str) -> None:
        """ "report", "hold": asks for something that is no directive."""
        self.open = False
        self.verb = "o"

    def claim(self, k: int, symbol: str) -> None:
        """From here on the sentence says what is, until somebody else is named."""
        self.open = False
        if symbol == "V" and (not self.asked or self.mode == "order" or self.near(k, "y")):
            return
        if symbol == "W" and self.plan:
            return
        if not self.got:
            self.mode = "claim"
            self.claims = self.claims or (symbol != "W" and bool(self.asked))

    def modal(self, k: int, symbol: str) -> None:
        """ "should", "please": an order begins."""
        self.open = False
        if self.mode != "claim" or self.near(k, ",;&"):
            self.mode = "order"
            self.lead = True
            if self.verb == "o" and self.near(k, ",;&"):
                self.verb = ""

    def desire(self, k: int, symbol: str) -> None:
        self.wish = self.lead = True
        self.open = False

    def not_(self, k: int, symbol: str) -> None:
        """ "not", "don't"; but a "no," begins a correction."""
        self.open = False
        after = self.symbols[k + 1 : k + 2]
        if after == "," or (after == "-" and self.near(k, ",-")):
            self.fixed_at = k
        else:
            self.negated = True

    def correction(self, k: int, symbol: str) -> None:
        self.fixed_at = k
        self.open = False

    def retraction(self, k: int, symbol: str) -> None:
        self.flush()
        self.reading.retracted_at = k

    def heading(self, k: int, symbol: str) -> None:
        self.status, self.plan = symbol != "P", symbol == "P"
        self.open = False

    def thanks(self, k: int, symbol: str) -> None:
        self.praise = True

    def other(self, k: int, symbol: str) -> None:
        self.open = False

    def comma(self, k: int, symbol: str) -> None:
        self.negated = self.praise = False
        if symbol != ",":
            self.open = False
            self.verb = self.verb if symbol == ":" else ""

    def end(self, k: int, symbol: str) -> None:
        """The sentence ends; the one person that it spoke to may still be meant in the next."""
        if not self.asked:
            self.got = []
        self.flush()
        keep = symbol != "\n" and len(self.asked) == 1 and self.mode != "claim"
        self.carried = keep
        if not keep:
            self.asked = []
        if symbol != "\n":
            self.status = self.plan = False
        self.restart()
        if keep:
            self.mode = "entry"


_KIND_OF_VERB = {"q": "s", "f": "d", "o": ""}
_HANDLERS: tuple[tuple[str, Callable[[_Walk, int, str], None]], ...] = (
    ("nieE", _Walk.name),
    ("sd", _Walk.target),
    ("p", _Walk.pronoun),
    ("qf", _Walk.asking_verb),
    ("gh", _Walk.gerund),
    ("t", _Walk.past),
    ("o", _Walk.other_verb),
    ("bVWrk", _Walk.claim),
    ("m", _Walk.modal),
    ("D", _Walk.desire),
    ("x", _Walk.not_),
    ("K", _Walk.correction),
    ("R", _Walk.retraction),
    ("HFP", _Walk.heading),
    ("A", _Walk.thanks),
    ("wcujSOvX", _Walk.other),
    (",;:-", _Walk.comma),
    (".?\n", _Walk.end),
)
_STEPS = {symbol: step for symbols, step in _HANDLERS for symbol in symbols}


def walk(reading: Reading) -> None:
    """Add to `reading` what its clauses ask; see `_Walk`."""
    if _WORTH_A_WALK.isdisjoint(reading.symbols):
        return
    state = _Walk(reading)
    for k, symbol in enumerate(reading.symbols):
        step = _STEPS.get(symbol)
        if step is not None:
            step(state, k, symbol)
    state.flush()
