"""The forms in which surrogates put things, by intent and voice.

Slots of a form: `{n}` a teammate, `{s}` a service (`{S}` with a capital first letter), `{r}` a
root service, `{c}` a change id, `{w}` a reason with its connective, `{me}` the author's own name.
No form speaks of a round by number, because the same intent may be posted in any round.
"""

from collections.abc import Mapping
from dataclasses import dataclass

VOICES: tuple[str, ...] = ("brisk", "careful", "warm", "tentative")
"""The voices, one per surrogate profile: telegraphic, evidence-minded, chatty, hedged."""

Forms = Mapping[str, tuple[str, ...]]
"""The forms of one intent, by voice."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a list of assignments is written: each one as `item`, joined, set into `frame`.

    A layout whose item is empty is a parallel list; its frame then holds `{names}` and
    `{services}`, both in the same order, and the author's own service follows as a sentence.
    `own` is the author's entry; with the author's name in it, it may stand anywhere in the list,
    otherwise it comes last.
    """

    frame: str
    item: str
    own: str
    join: str = ", "
    last: str = ""


PLANS: Mapping[str, tuple[Layout, ...]] = {
    "brisk": (
        Layout("{body}.", "{n} → {s}", "me → {s}"),
        Layout("{body}.", "{n} -> {s}", "me -> {s}", "; "),
        Layout("Split: {body}.", "{s}={n}", "{s}=me", " "),
        Layout("Queries: {body}. Go.", "{n}: {s}", "{me} (me): {s}"),
        Layout("{body}.", "{n}: {s}", "me: {s}", " | "),
        Layout("{body}.", "[{n} {s}]", "[me {s}]", " "),
        Layout("Query list:\n{body}", "- {n}: {s}", "- me: {s}", "\n"),
        Layout("{body}.", "{s} → {n}", "{s} → me"),
        Layout("{body}.", "{n} take {s}", "I take {s}"),
        Layout("{names} → {services}, in that order.", "", " Me: {s}."),
        Layout("Map: {body}.", "{n}={s}", "{me}={s}", " / "),
    ),
    "careful": (
        Layout("Proposed assignment: {body}.", "{n}: {s}", "{me} (me): {s}"),
        Layout("I suggest one card each: {body}.", "{s} - {n}", "{s} - me", "; "),
        Layout("For coverage, {body}.", "{n} should query {s}", "I will query {s}", last=" and "),
        Layout("Assignment by service. {body}.", "{S}: {n}", "{S}: me", "; "),
        Layout("{names} should query {services} respectively.", "", " I will query {s}."),
        Layout("Evidence first, one query each:\n{body}", "* {n}: {s}", "* {me} (me): {s}", "\n"),
        Layout("Every card once: {body}.", "{n} examines {s}", "I examine {s}", last=" and "),
        Layout("Query plan (one service each): {body}.", "{n} ({s})", "me ({s})"),
        Layout("{body}. Please report what it says.", "{n}, inspect {s}", "I inspect {s}", "; "),
        Layout("Let {body}.", "{n} check {s}", "me check {s}", last=", and let "),
        Layout("In this order: {names} query {services}.", "", " I query {s}."),
    ),
    "warm": (
        Layout("{body}", "{n}, could you take {s}?", "I'll do {s}.", " "),
        Layout("Shall we split it up like this:\n{body}", "{n} - {s}", "me - {s}", "\n"),
        Layout("Let's share the queries: {body}!", "{n}: {s}", "{me} (that's me): {s}"),
        Layout("{body} :)", "@{n} please check {s}", "I'm on {s}"),
        Layout("Would love your help! {body}.", "{n} please look at {s}", "I'll look at {s}", "; "),
        Layout("Here is a fair split:\n{body}", "{s} for {n}", "{s} for me", "\n"),
        Layout("Let's do {body}!", "{n} on {s}", "me on {s}", last=" and "),
        Layout("{body}.", "{s} goes to {n}", "{s} is mine", last=" and "),
        Layout("{names}, please query {services} in that order!", "", " I'll take {s}."),
        Layout("Can {body}? Thanks!", "{n} have a look at {s}", "I'll look at {s}", last=" and "),
        Layout("Team list: {body}. Thanks a lot!", "{n} ➜ {s}", "me ➜ {s}"),
        Layout("Let's go:\n{body}", "{i}) {n}: {s}", "{i}) me: {s}", "\n"),
    ),
    "tentative": (
        Layout("Maybe {body}?", "{n} could take {s}", "I could take {s}", last=" and "),
        Layout("Just an idea, please change it: {body}.", "{n}: {s}", "me: {s}"),
        Layout("I'm not sure, but perhaps {body}.", "{n} on {s}", "me on {s}"),
        Layout("Perhaps one each? {body}.", "{s} - {n}", "{s} - me", ", "),
        Layout("I think this might work: {body}.", "{s} for {n}", "{s} for me", last=" and "),
        Layout("I wonder if {body}?", "{n} could look at {s}", "I could look at {s}"),
        Layout("If nobody minds: {body}.", "{n} = {s}", "{me} = {s}", "; "),
        Layout("I would perhaps put {body}.", "{n} on {s}", "myself on {s}", last=" and "),
        Layout("Possibly: {names} query {services}, in that order.", "", " I might take {s}."),
        Layout("One option, maybe:\n{body}", "- {n} > {s}", "- me > {s}", "\n"),
        Layout("Maybe I can suggest {body}?", "{n} ({s})", "me ({s})"),
        Layout("{body}.", "maybe {n} queries {s}", "maybe I query {s}"),
    ),
}  # fmt: skip

GREETINGS: Forms = {
    "brisk": ("", "", "", "All: ", "Plan. "),
    "careful": (
        "",
        "",
        "Timings alone cannot decide. ",
        "No card, no filing. ",
        "Hello colleagues. ",
    ),
    "warm": ("Hi all! ", "Hello everyone! ", "Hey team! ", "Hi folks! ", ""),
    "tentative": ("", "", "Hi. ", "Hm. ", "Hello. "),
}
"""What may stand before a plan."""

TAILS: Forms = {
    "brisk": ("", "", "", " No doubles.", " Report back."),
    "careful": (
        "",
        "",
        " This way no query is spent twice, because each service is named once.",
        " Please file only after a card confirms it.",
        " Two cards for one service would be a waste, so please keep to it.",
    ),
    "warm": ("", "", " Post what you find!", " That way nobody doubles up.", " Thanks, all!"),
    "tentative": (
        "",
        "",
        " Feel free to change it.",
        " I may well be wrong.",
        " That way we might avoid doubles.",
    ),
}
"""What may follow a plan."""

REASONS: Forms = {
    "brisk": (" - {why}", ": {why}", " ({why})"),
    "careful": (", because {why}", " because {why}", ", since {why}"),
    "warm": (" - {why}", " because {why}", ", since {why}"),
    "tentative": (" since {why}", ", because {why}", " - {why}"),
}
"""How a reason is joined to an order."""

ORDER_QUERY: Forms = {
    "brisk": (
        "{n} → {s}{w}.",
        "{n}: {s}{w}.",
        "{n} take {s}{w}.",
        "@{n} query {s}{w}.",
        "{s}: {n}{w}.",
        "{n}, {s} please{w}.",
        "Need {n} on {s}{w}.",
        "Switch {n} to {s}{w}.",
    ),
    "careful": (
        "{n}, please query {s}{w}.",
        "I suggest that {n} examines {s}{w}.",
        "{n} should inspect {s} next{w}.",
        "We still lack a card for {s}. {n}, please read it: {s}{w}.",
        "The open question is {s}; {n}, can you query {s}{w}?",
        "Could {n} check {s} with the unused query{w}?",
        "Please query {s}, {n}{w}.",
    ),
    "warm": (
        "{n}, could you query {s}{w}?",
        "Hi {n}! Would you mind taking a look at {s}{w}? Thanks!",
        "{n}, please have a look at {s}{w} :)",
        "Can you take {s}, {n}{w}?",
        "{n}, you'd be a star if you check {s}{w}!",
        "Hey {n}, let's have you look at {s}{w}.",
        "{n} please grab {s}{w}, thank you!",
    ),
    "tentative": (
        "Maybe {n} could query {s}{w}?",
        "{n}, perhaps you could take {s}{w}?",
        "I think {n} might look at {s}{w}.",
        "I wonder whether {n} could check {s}{w}.",
        "{n}, if you don't mind, maybe try {s}{w}?",
        "I'd perhaps have {n} query {s}{w}.",
        "Possibly {s} for {n}{w}?",
    ),
}

ORDER_FILE: Forms = {
    "brisk": (
        "{n}: file {c}{w}.",
        "{n} file {c}{w}.",
        "@{n} → file {c}{w}.",
        "File {c}, {n}{w}.",
        "{n} submit {c} now{w}.",
        "{c}: {n} to file{w}.",
    ),
    "careful": (
        "{n}, please file {c}{w}.",
        "I suggest that {n} files {c}{w}.",
        "{n} should submit {c} next{w}.",
        "The evidence is in. {n}, can you file {c}{w}?",
        "Please file {c}, {n}{w}.",
        "{n} can safely file {c} now{w}.",
    ),
    "warm": (
        "{n}, could you file {c}{w}? Thanks!",
        "{n}, go ahead and file {c}{w} :)",
        "Hi {n}! Would you please submit {c}{w}?",
        "Can you file {c}, {n}{w}?",
        "Hey {n}, let's have you file {c}{w}!",
        "{n} please go and file {c}{w}, thank you!",
    ),
    "tentative": (
        "Maybe {n} could file {c}{w}?",
        "{n}, perhaps you could file {c}{w}?",
        "I think {n} might file {c}{w}.",
        "I wonder whether {n} could submit {c}{w}.",
        "{n}, if nobody minds, maybe file {c}{w}?",
        "I'd perhaps have {n} file {c}{w}.",
    ),
}

CLAIM: Forms = {
    "brisk": (
        "Me: {s}.",
        "{s} → me.",
        "Taking {s}.",
        "I take {s}. Others elsewhere.",
        "Claim: {s}.",
        "{s} is mine.",
        "My query: {s}.",
    ),
    "careful": (
        "I will query {s} and report what its card says.",
        "I intend to examine {s}, and will post the evidence before anyone files.",
        "My query will go to {s}; timings alone decide nothing.",
        "I will inspect {s}. Please choose a different service.",
        "{S} is covered by me; I will report the card word for word.",
        "I claim {s}, so a second query there would be wasted.",
    ),
    "warm": (
        "Hi all! I'll take {s} :)",
        "Happy to cover {s}, will share whatever turns up!",
        "I've got {s}, friends!",
        "Hello! I'm going to look at {s} and tell you everything.",
        "Let me take {s}, and good luck with the rest!",
        "Count me in for {s}!",
        "{S} for me, please!",
    ),
    "tentative": (
        "I think I'll take {s}, if nobody minds.",
        "I might query {s}, unless it is a bad idea.",
        "Perhaps I could cover {s}?",
        "Maybe I start with {s}.",
        "I'd probably look at {s}, but tell me if that is silly.",
        "I guess {s} could be mine?",
    ),
}

TOOK: Forms = {
    "brisk": (
        "Queried {s}.",
        "{s} queried. Card next turn.",
        "Done: my query went to {s}.",
        "On {s} now.",
        "Query spent: {s}.",
        "I'm on {s}. Skip it.",
    ),
    "careful": (
        "I have queried {s}; the card reaches me at my next turn.",
        "I queried {s} this turn and will report the card.",
        "My query has gone to {s}. Please do not repeat it.",
        "I am examining {s} now; no conclusion yet.",
        "I used my query on {s} and wait for the evidence.",
        "{S} has been queried by me, so it needs no second query.",
    ),
    "warm": (
        "Hi! I just queried {s}, back soon with the news!",
        "I'm looking at {s} right now, friends :)",
        "My query is in for {s} - fingers crossed!",
        "Just sent my query to {s}, will tell you all!",
        "I've checked in on {s}, card to come!",
        "I took {s} this time, hope it helps!",
    ),
    "tentative": (
        "I went for {s}, hope that was right.",
        "I think {s} was the best use of my query, so I queried {s}.",
        "I've queried {s}, though perhaps another one was better.",
        "I have put my query into {s}, maybe it tells us something.",
        "Not sure it helps, but I queried {s}.",
        "I'm querying {s} now, if that is all right.",
    ),
}

FINDING_ALERT: Forms = {
    "brisk": (
        "{s}: root is {r}.",
        "Card: {s} ← {r}.",
        "{s} card → root {r}.",
        "{s} fails because of {r}.",
        "Root of {s} = {r}.",
        "{r} breaks {s}.",
    ),
    "careful": (
        "The {s} card says that its errors come from {r}.",
        "My card traces the {s} errors back to {r}.",
        "According to my card, {r} is the root of the {s} outage.",
        "Evidence: {s} is failing due to {r}; we still need the change.",
        "The card names {r} as the root for {s}.",
        "My card for {s} points to {r}, not to its own deploy.",
    ),
    "warm": (
        "Hi all! My card says {s} is only sick because of {r}.",
        "News! {s} gets its errors from {r}, so that's where to look.",
        "Good news: the root of {s} is {r}!",
        "Guess what, {r} is what's breaking {s}!",
        "My {s} card is here: it all comes from {r} :)",
        "Look here, friends: {r} is behind the {s} trouble.",
    ),
    "tentative": (
        "If I read my card right, {s} suffers because of {r}.",
        "It looks as if {s} errors come from {r}.",
        "I think my card means that {r} is behind {s}.",
        "My card seems to say the root of {s} is {r}.",
        "Maybe this helps: {s} is caused by {r}, says the card.",
        "I believe {s} leads back to {r}, going by my card.",
    ),
}

FINDING_ROOT: Forms = {
    "brisk": (
        "{s}: {c} is the cause.",
        "Confirmed: {c} ({s}).",
        "{c} broke {s}.",
        "{s} card → cause {c}.",
        "Cause on {s} = {c}.",
        "{s}: it's {c}, confirmed.",
    ),
    "careful": (
        "The {s} card names {c} as the cause, and not the other change.",
        "My card confirms that {c} on {s} is responsible.",
        "Evidence for {s}: the diff shows that {c} is the cause.",
        "According to the {s} card the fault was introduced by {c}.",
        "I read the {s} card; the cause is {c}.",
        "{C} is confirmed as the cause by my card for {s}.",
    ),
    "warm": (
        "Great news, my {s} card says it was {c}!",
        "Got it! {c} is the culprit on {s}.",
        "Hi all! The {s} card points at {c} :)",
        "Good news: {c} is what broke {s}!",
        "My card is lovely and clear: on {s} the cause is {c}.",
        "Found one, friends: {s} was broken by {c}!",
    ),
    "tentative": (
        "I think {c} is the cause on {s}, if I read the card right.",
        "My card seems to say {c} broke {s}.",
        "It looks like the culprit for {s} is {c}.",
        "As far as I can tell, {c} caused it on {s}.",
        "Maybe someone can double-check, but my {s} card blames {c}.",
        "I believe the {s} card means {c} is to blame.",
    ),
}

FINDING_CLEAN: Forms = {
    "brisk": (
        "{s}: clean.",
        "{s} card: nothing.",
        "Nothing on {s}.",
        "{s} ok.",
        "{s} healthy. Not involved.",
        "No fault in {s}.",
    ),
    "careful": (
        "The {s} card shows nothing wrong.",
        "My card finds no problem on {s}; it can be ruled out.",
        "{S} is healthy according to its card, so it is not involved.",
        "I have read the {s} card: no errors and no suspicious change.",
        "Evidence: {s} shows normal metrics.",
        "My query found nothing at all in {s}.",
    ),
    "warm": (
        "Hi all, {s} is perfectly fine!",
        "My {s} card is back: all clean, sorry!",
        "Sadly nothing to see on {s} :(",
        "Good news for {s}: it's healthy!",
        "No trouble at all on {s}, friends.",
        "Well, {s} looks fine, so that's one less to worry about!",
    ),
    "tentative": (
        "As far as I can tell {s} is clean.",
        "I think there is nothing wrong with {s}.",
        "My card seems to say that {s} is fine.",
        "It looks like {s} is not involved.",
        "I believe {s} is healthy, sorry for the wasted query.",
        "I'm afraid my card shows no problem on {s}.",
    ),
}

FILING: Forms = {
    "brisk": (
        "Filing {c}.",
        "Filing {c} ({s}).",
        "{c} filed. {s} next?",
        "Filed: {c} for {s}.",
        "I file {c} now.",
        "{s}: filing {c}.",
    ),
    "careful": (
        "I am filing {c} for {s} now; the card confirms it.",
        "With the evidence in hand I file {c} on {s}.",
        "I have filed {c} for the {s} outage. Please do not file it again.",
        "I am submitting {c}; please do not repeat it.",
        "I will now file {c} ({s}) on the strength of the card.",
        "{C} is being filed by me for {s}.",
    ),
    "warm": (
        "Hi all! I'm filing {c} now, that should fix {s} :)",
        "Filing {c} for {s}, fingers crossed!",
        "Here goes: I'm submitting {c} for {s}!",
        "Just filed {c}, hope {s} feels better!",
        "I'll file {c} right now, friends!",
        "I've filed {c} - one down, hopefully!",
    ),
    "tentative": (
        "I think I'll file {c} for {s} now.",
        "I'm filing {c}, hope that is right for {s}.",
        "I guess it is time, so I'm submitting {c} ({s}).",
        "Unless I misread the card, {c} is right for {s}, so I file {c}.",
        "I've filed {c} for {s}, hopefully not too early.",
        "I might be wrong, but I'm filing {c} now.",
    ),
}

FOLLOW: Forms = {
    "brisk": (
        "Per {n}: I take {s}.",
        "{s}, as {n} said.",
        "As {n} asked: {s} for me.",
        "OK {n}, taking {s}.",
        "{n}'s plan: I'm on {s}.",
        "Following {n}. {s} is mine.",
    ),
    "careful": (
        "As {n} suggested, I will query {s}.",
        "I follow {n}'s assignment and query {s}, so that nothing is doubled.",
        "I will examine {s}, in line with {n}'s plan.",
        "{n} assigned {s} to me, and I will query it.",
        "In keeping with the proposal by {n}, I will inspect {s}.",
        "I take {s} as {n} proposed; the plan leaves no gap.",
    ),
    "warm": (
        "Sure {n}, I'll take {s}!",
        "Thanks {n}! I'm on {s} then :)",
        "Love {n}'s plan, I'll look at {s}.",
        "Happy to go with {n}: I've got {s}!",
        "{n}, good idea, I'll do {s}!",
        "Agree with {n}, so I'll cover {s}. Thanks!",
    ),
    "tentative": (
        "I think {n} is right, so I'll take {s}.",
        "I'd go with {n}'s idea and look at {s}, I suppose.",
        "Since {n} suggested it, I could take {s}.",
        "I might as well do what {n} said: I'll query {s}.",
        "{n}'s split seems sensible, so maybe I take {s}.",
        "I guess I'll query {s}, as {n} proposed.",
    ),
}

CHAT: Forms = {
    "brisk": (
        "Holding.",
        "Waiting on cards.",
        "No filing on timings alone.",
        "Agreed.",
        "Post findings, short.",
        "Nothing new here.",
    ),
    "careful": (
        "The times fit several changes, so they prove nothing yet.",
        "I would wait for a card before any filing.",
        "Please keep in mind that a wrong filing is spent for good.",
        "I agree with the last message and have nothing to add.",
        "No card so far; I will report when one arrives.",
        "Let us compare what the cards say before we decide.",
    ),
    "warm": (
        "Hi everyone, good to be here!",
        "Nice work so far, all of you!",
        "We can do this, one card at a time :)",
        "Thanks for the updates, really helpful!",
        "I'm waiting for my card, hang on!",
        "Hello team, let's share what we learn!",
    ),
    "tentative": (
        "I'm not sure yet, maybe we should wait.",
        "I have no strong opinion so far.",
        "Perhaps the deploys are only a distraction?",
        "I think I'll hold back until I know more.",
        "That sounds right to me, I think.",
        "I could be wrong, but the times look too neat.",
    ),
}

ROLL_CALL: Mapping[str, tuple[Layout, ...]] = {
    "brisk": (
        Layout("So far: {body}.", "{n} {s}", ""),
        Layout("Taken: {body}.", "{s} ({n})", ""),
        Layout("Status: {body}.", "{n}={s}", "", " "),
        Layout("Already claimed - {body}.", "{n}: {s}", "", " | "),
        Layout("{body}.", "{n} has {s}", ""),
    ),
    "careful": (
        Layout("As I understand it, {body}.", "{n} has {s}", "", last=" and "),
        Layout("Claims posted so far: {body}.", "{n}: {s}", "", "; "),
        Layout("For the record, {body}.", "{s} was queried by {n}", "", last=" and "),
        Layout("{body}. The others are still open.", "{n} is examining {s}", "", "; "),
        Layout("Already covered: {body}.", "{s} by {n}", ""),
    ),
    "warm": (
        Layout("So far: {body}. Great start!", "{n} has {s}", "", last=" and "),
        Layout("Lovely, {body}!", "{n} is on {s}", "", last=" and "),
        Layout("Already taken:\n{body}", "- {n}: {s}", "", "\n"),
        Layout("Thanks all! {body}.", "{n} has got {s}", "", last=" and "),
        Layout("Great, {body} already!", "{n} is looking at {s}", ""),
    ),
    "tentative": (
        Layout("If I see it right, {body}.", "{n} has {s}", "", last=" and "),
        Layout("I think {body}?", "{n} is on {s}", "", last=" and "),
        Layout("Correct me, but I count {body} so far.", "{n} on {s}", ""),
        Layout("It seems {body}.", "{n} already took {s}", "", last=" and "),
        Layout("Maybe I missed some, so far I have seen {body}.", "{s} with {n}", ""),
    ),
}

OPEN_REQUEST: Forms = {
    "brisk": (
        "Open: {s}.",
        "Someone take {s}.",
        "{s} unclaimed.",
        "Need somebody on {s}.",
        "Who takes {s}?",
        "{s} still free. Anyone?",
    ),
    "careful": (
        "Nobody has queried {s} yet; one of you should.",
        "Could someone with an unused query examine {s}?",
        "We still lack evidence for {s}. Whoever is free should query it.",
        "I see no claim for {s}, so it would help if anyone took it.",
        "It would be best if somebody checked {s} before we file.",
    ),
    "warm": (
        "Can anybody take {s}? That would be lovely!",
        "Who would like {s}? Still up for grabs!",
        "Anyone up for {s}? Thank you!",
        "Hi all, we still need someone for {s} :)",
        "Would one of you have a look at {s}, please?",
    ),
    "tentative": (
        "Maybe someone could take {s}?",
        "I wonder if anyone wants {s}.",
        "Perhaps {s} could be covered by whoever is free?",
        "I think nobody is on {s} yet, maybe one of you?",
        "If anyone has a query left, perhaps {s}?",
    ),
}
