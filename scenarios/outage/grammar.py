"""The words and the grammar by which surrogates read posts.

Letters for what a post is about: N a teammate, A the author by name, S a service, C a change id,
I "I", m "me, mine", y "my", K "card", c a teammate who is only cited ("as Bo said"). The letters of
other words are in `WORDS`; w is any word not listed there. Punctuation stands for itself, with all
dashes written -, all arrows > or <, and ! as a full stop.
"""

import re
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")
Pairs = tuple[tuple[int, int], ...]

LONGEST = 600
"""Characters of a post that are read; the rules of the room cut posts well before that."""

WORDS = {
    "I": "i i'll i've i'm i'd happy-to glad-to",
    "m": "me mine myself",
    "y": "my",
    "K": "card cards",
    # asking or doing: "query cart"; Y may also be a noun: "claim: cart"
    "q": "query check take cover look inspect examine read grab dig probe handle investigate pull "
    "peek try start do switch move go stay verify own queries checks takes covers inspects "
    "examines reads grabs digs handles investigates pulls tries starts does switches moves goes "
    "stays verifies owns looks-at have-a-look mind-taking mind-querying mind-checking mind-looking",
    "Y": "claim pick choice",
    "g": "querying checking taking covering looking inspecting examining reading grabbing digging "
    "probing handling investigating pulling claiming going starting switching moving heading",
    "d": "queried checked took examined inspected grabbed pulled picked used spent went sent",
    "f": "file files submit submits revert reverts rollback roll-back",
    "F": "filing filed submitting submitted reverting reverted",
    # state: "Bo has cart"
    "h": "has got is are was were it's that's holds been means says",
    "H": "have had",
    "z": "taken claimed covered already status tally current currently count claims so-far",
    "l": "on to for in at into onto",
    "B": "by with",
    "o": "of",
    # what follows b is cited, what precedes u is cited: "as Bo suggested"
    "b": "as per following thanks thank agree agreed like follow love told",
    "u": "suggested suggests asked proposed proposes said wrote assigned wanted wants mentioned",
    "n": "not don't no never isn't aren't can't cannot without avoid skip didn't doesn't wasn't "
    "won't shouldn't instead supposed",
    "v": "someone anyone somebody anybody who whoever nobody everyone everybody others open free "
    "unclaimed left uncovered did unless seen one-of-you",
    "%": "because since so therefore hence otherwise reason",
    # findings: a change is the cause of a service's trouble (e); a service is behind another's (x);
    # a service's trouble has its root (r) in, comes from (t), is traced to (T) another's; no
    # trouble (k, and O only after the service), or trouble (j), which "no" turns into none
    "e": "cause causes caused culprit confirmed confirms names blame blames broke broken "
    "responsible introduced guilty",
    "x": "behind breaks breaking causing drives driving hurts",
    "r": "root source origin upstream",
    "t": "from because-of due-to comes come points leads",
    "T": "trace traces traced",
    "k": "nothing clean healthy unaffected uninvolved innocent normal",
    "O": "fine ok okay good green quiet clear",
    "j": "wrong problem problems fault faults issue issues error errors trouble involved "
    "suspicious anomaly anomalies amiss",
    "i": "hi hey hello",
    "a": "and & +",
    # polite and auxiliary words say nothing here and are left out
    "": "could can would will please should the a an just now then also you your you're let let's "
    "next still need needs must may might maybe perhaps possibly be being right don't-mind "
    "nobody-minds",
    "-": "- – —",
    ">": "→ ➜ ➡ ⇒ 👉",
    "<": "← ⇐",
    ".": ". ! … :) :( :-) :-(",
}
"""The letter of each listed word; a hyphen stands for the blank in a phrase."""

_HEDGE_WORDS = (
    "maybe perhaps might possibly think guess wonder suppose unsure idea minds hopefully hope "
    "seems believe afraid probably tentatively nobody-minds don't-mind"
)
HEDGES = frozenset(word.replace("-", " ") for word in _HEDGE_WORDS.split())
"""Words and phrases of which one makes a post tentative."""

PHRASES = frozenset(
    word.replace("-", " ")
    for words in WORDS.values()
    for word in words.split()
    if re.fullmatch(r"\w\S*-\S*\w", word)
)


def _both_cases(words: Iterable[str]) -> frozenset[str]:
    """Returns the words as they are and with a capital first letter."""
    return frozenset(form for word in words for form in (word, word[:1].upper() + word[1:]))


OPENERS = _both_cases(phrase.split()[0] for phrase in PHRASES)
HEDGES = _both_cases(HEDGES)
LISTED_WORDS = {mark: (mark, mark) for mark in ",:;?(=<>/|\n"} | {
    form.replace("-", " ") if form[0].isalpha() else form: (letter, form)
    for letter, words in WORDS.items()
    for form in _both_cases(words.split())
}
TOKEN = (
    r"\w+(?:'\w+|-\d{2,4}(?!\w))?|:-?[)(]|[.,:;!?(\n→/|&+>➜➡⇒👉←⇐…–—]|[-=]{1,2}>|<[-=]{0,2}|="
    r"|-(?!\w)|(?<!\w)-"
)
NUMBERING = re.compile(r"^[ \t]{0,4}\d\d?\.|\(?\b\d\d?\)", re.MULTILINE)
CHANGE = re.compile(r"[A-Z]{1,3}-\d{2,4}")
GREETED = re.compile(r"(?<=iN)\.")
CITED = re.compile(r"b[wBa]{0,2}[NP](?:aN)?|P(?![lghd])|N(?=u)")

# Pieces of the grammar. LINK joins a name and a service in a list; MORE is a second service.
_LINKS = r":>=<\-("
_LINK = f"[{_LINKS}]"
_MORE = rf"(?:[a/]S(?!{_LINK}{{0,2}}[NAIm]|[lh]))?"
_AND = r"(?:,a?|a|/)"
_GAP = rf"[,{_LINKS}wlhHaqYgdzeBny]{{0,8}}"
_START = r"(?<=[.?\n;:,\-])"
# Ends an entry of a list: "cart: Bo, ..." and not "- cart errors come from it".
_LISTED_END = r"(?=[,.;|/\n?a%SN])"
_EACH = rf"(?P<each>[NAIm](?:{_AND}[NAIm])+{_GAP}S(?:{_AND}S)+(?!{_LINK}?[NAIm]))"
_AUTHOR = (
    r"(?P<author>(?:A\(?[wh]{0,2}m|m\(A|(?<!B)[IAm])"
    rf"[{_LINKS}wqYgdhHlaobcupBzy,]{{0,10}}?S{_MORE})"
)
_GRAMMAR = {
    "N": (
        # Bo, please file D-466 / Bo: D-466
        r"(?P<file>N[,:>\-wlahHqyz(]{0,6}f[wlSoab]{0,4}C|N[:>=<\-]{1,2}C)",
        # Ada, Bo and Cy: search, email and cart (one each, in order)
        _EACH,
        # Ada and Bo on search
        rf"(?P<both>N(?:aN)+{_GAP}S)",
        # Bo: cart / Bo, could you take cart / Bo has cart
        rf"(?P<teammate>N{_GAP}S{_MORE})",
    ),
    # I take cart / me: cart / Fay (me): cart, written by Fay
    "I": (_EACH, _AUTHOR),
    "A": (_EACH, _AUTHOR),
    "m": (_EACH, _AUTHOR),
    # Bo's on cart
    "P": (r"(?P<passive>P[wlgd]{1,4}S)",),
    # file D-466, Bo / D-466: Bo
    "f": (rf"(?P<file>f[wlSob]{{0,4}}C,?N(?![qf]|[:>=<]?C|[:>=<]S{_LISTED_END}))",),
    "C": (r"(?P<file>C(?:[:>=\-]{1,2}|l)N)",),
    # can you take cart, Bo?
    "q": (
        rf"(?P<called>q[wl]{{0,2}}S,?N(?![:>=<(\-]S{_LISTED_END}|[qhHlgd]))",
        rf"(?P<bare>{_START}qd:S)",
    ),
    "S": (
        # search, email and cart: Ada, Bo and Cy
        rf"(?P<each>S(?:{_AND}S)+{_LINK}{{1,2}}[NAIm](?:{_AND}[NAIm])+(?!{_LINK}S))",
        # cart was queried by Bo
        r"(?P<passive>S[hHw]{0,3}[dz]B[NAIm])",
        # cart: Bo / cart (Bo) / cart for Bo / cart is mine
        rf"(?P<service>S(?:{_LINK}{{1,2}}|[hq]?l|h?B|h?(?=m))(?:N(?![:>=<(]S{_LISTED_END}|[qgdhH]|fC)"
        r"|[AIm](?![qgdhHlFf:>=])))",
        # cart queried / cart, as Bo said
        rf"(?P<bare>{_START}S(?:[hHw]{{0,2}}d(?!B)|,?bcu?\.))",
    ),
    # Querying cart / on cart now / claim: cart / my query goes to cart
    "g": (rf"(?P<bare>(?:{_START}|(?<=[.?\n;:,\-][wi]))g[wlyqB:]{{0,4}}S)",),
    "d": (rf"(?P<bare>(?:{_START}|(?<=[.?\n;:,\-][wi]))d[wlyqB:]{{0,4}}S)",),
    "l": (rf"(?P<bare>{_START}lS(?=w?\.))",),
    "Y": (rf"(?P<bare>{_START}Y[:>\-]S)",),
    "y": (r"(?P<bare>y[wq]{0,2}[qYd][hwldg:>]{0,4}S)",),
}
"""The forms of directives and claims, by the letter with which they begin."""
DEALS = {letter: re.compile("|".join(forms)) for letter, forms in _GRAMMAR.items()}
CLAIMING = re.compile(r"^[^n]*[qYgdhHlz][^n]*$")
LISTED = re.compile(rf",?{_LINK}{{0,2}}l?|ql|hl")
ROOT = re.compile(r"(?P<of>[re][ol]w?)?(?P<traced>T)?S(?=(?P<gap>[^NSCnqgv.?\n;]{1,10})S)")
ROOT_CUES = frozenset("rtTxe<>")
CAUSE = re.compile(
    r"C[whHlBSo,\-:>=(]{0,5}e(?!\?)|[et][whlBSo:=>,\-]{0,5}C|K[whlBt:,>\-=]{0,4}C(?!\?)"
)
OF_SERVICE = re.compile(r"[wlo(,]{0,3}S")
CLEAN = re.compile(
    r"S[whHlbBy]{0,6}(?:k|n[wa]{0,3}j)|S(?:[:=,\-]h?k|[:\-]nw?j)"
    r"|SK[whHlB]{0,3}[:=,\-]?[whH]{0,4}(?:k|n[wa]{0,3}j)"
    r"|(?:k|nw{0,2}j)[wjhlBo]{0,5}S|S[hwK:=,\-]{0,3}O"
)
CLEAN_CUES = frozenset("kjO")
FILED = re.compile(r"F[wlSoKe,:]{0,4}C|I[wlqa]{0,4}f[wlSo]{0,4}C|C[hHwl]{0,3}F")
REASON = re.compile(r"%|(?:[SCf][\-:(]S?|N[\-:(])[wyvKhHjetnzkBlT]{3}|N[\-:(]S[jt]")
