"""The words that the rules know, each with its symbol."""

# English first, then what other languages of the models' posts need for the same symbol.
# n teammate, u teammate who is merely mentioned, s service, z perhaps a service, d change,
# w any other word; the marks : - ~ , & ; . ? ( ) and line end stand for themselves.
_VOCABULARY = {
    "i": "i me myself i'll i'm i've i'd mine im ich yo je j'ai eu io ik 我 私",
    "e": "everyone everybody someone somebody anyone anybody nobody none others rest"
    " whoever all team folks he she they him them he's she's they're we us we're we'll we've"
    " another other alguien jemand quelqu'un tous todos alle 大家",
    "y": "you u ya'll y'all tú tu du vous usted sie 你 您",
    "q": "query queries check checks examine examines take takes read reads inspect"
    " inspects cover covers look probe probes pull pulls grab grabs handle handles pick picks"
    " investigate investigates dig digs peek peeks verify verifies hit test tests try tries"
    " use spend spends scan scans start starts begin begins stay stays move moves go goes"
    " switch switches shift shifts own owns tackle tackles claim claims get gets review"
    " explore explores chk qry see study pivot pivots swap swaps focus dive jump jumps run"
    " request hop keep keeps poke be monitor analyze analyse revisa revise revisar consulta"
    " consulte consultar consulter mira mire toma tome tomar verifica verifique verificar"
    " comprueba chequea coge investiga inspecciona examina regarde regarder vérifie verifie"
    " vérifier prends prendre prend inspecte couvre prüfe prüf prüft prüfen nimm nimmt nehmen"
    " übernimm übernimmt übernehmen schau schaue überprüfe überprüfen checke abfragen confira"
    " pegue olhe cheque controlla guarda prendi 查 检查 看 查询 查看 负责 調べて 見て 確認して",
    "Q": "do",
    "g": "querying checking examining taking reading inspecting covering looking probing"
    " pulling grabbing handling doing picking investigating digging peeking verifying testing"
    " trying using spending scanning starting staying moving going switching owning tackling"
    " claiming getting reviewing exploring swapping focusing",
    "t": "queried checked examined took inspected covered probed pulled grabbed handled"
    " picked investigated verified tested tried used spent scanned started stayed moved went"
    " switched owned claimed reviewed looked dug got found filed submitted reverted posted"
    " shared reported confirmed solved fixed nailed cleared saw showed spotted ended chose"
    " volunteered",
    "f": "file files submit submits revert reverts rollback rollbacks roll rolls undo"
    " lodge presenta presente presentar archiva envía somete revierte revertir dépose deposer"
    " déposer soumets soumettre annule einreichen melde reiche submeta reverta 提交 回滚 回退",
    "h": "filing submitting reverting rolling undoing",
    "o": "report reports hold holds wait waits confirm confirms share shares post posts"
    " tell tells say make explain list name summarize summarise update describe answer reply"
    " ping note remember reconsider decide watch compare discuss coordinate think trust paste"
    " write show correlate repeat recheck prepare draft 确认 报告 汇报",
    "b": "needs lacks is are was were am did does had been being isn't already currently"
    " points point says shows names seems looks depends fails failed came comes mentions"
    " breaks broke caused causes remains appears alerts alerted could've would've should've"
    " tiene está esta estão ya tem déjà est occupe s'occupe hat ist schon bereits macht 已 已经"
    " 在 正在",
    "V": "have has",
    "W": "will won't 'll",
    "m": "mind should could can please pls plz must may might need let lets let's assign"
    " assigns give ask put send shall would ought want suggest propose recommend nominate vote"
    " maybe perhaps possibly kindly pair onto ready favor por bitte sollte soll kann könnte"
    " puede podrías puedes peux pourrais deve doit pode 请 應該 应该 让 可以 麻烦",
    "D": "rather prefer wish like love",
    "r": "told asked said suggested wants wanted wrote proposed thinks mentioned agrees"
    " argued recommended suggests proposes assigned instructed requested planned urged"
    " reminded",
    "k": "what who why when's how where which who's what's whose qué quién quoi",
    "x": "not don't dont never no without avoid skip drop leave ignore stop nor can't"
    " cannot shouldn't needn't nothing neither mustn't abandon nicht kein nein pas ne não 不要"
    " 别 不 勿",
    "c": "if unless since because after when once while as until till before whether"
    " although though whatever wherever cause cuz bc given si wenn weil falls porque quand 如果",
    "l": "on at into in onto over through within near 上",
    "L": "to for → toward",
    "v": "per from with by than via following beside besides about unlike regarding cc re"
    " de von mit con avec",
    "j": "card cards config configs evidence deploy deploys banner result results finding"
    " findings change changes frontend web root team outage incident",
    "O": "of",
    "H": "status covered claimed taken recap tally done pending finished known clean"
    " summary results seen spoken",
    "P": "plan split proposal suggestion assignments assignment suggested cover map roster"
    " allocation",
    "K": "actually correction instead sorry wait oops edit scratch amend",
    "R": "nvm nevermind disregard",
    "A": "thanks thx ty kudos credit great nice congrats gracias danke merci agree agreed"
    " ack ok okay sure props bravo well 谢谢",
    "p": "it that this one",
    "/": "/",
    "&": "and plus und y et e & + 和 ，和",
    ";": "but so however yet aber pero mais ; |",
    ",": ", then 、 ， 然后",
    "T": "the a an your his her their our its any some el la le der die das los las un une del",
    "U": "my",
    "a": "both each hi hey hello hallo hola now also just really still first quickly"
    " directly again next r1 r2 r3 r4 r5 r6 r7 r8 too right ahead out back up down there here"
    " today asap only even yourself alone going quick safely alert alerts service services"
    " side round s t のは は を さん くん して ください ce cette ein einen gleich mal par 一下"
    " 来 吧",
    ":": ": = -> --> => ==> → ➜ ➔ ➡ ⇒ 👉 ： > ← <- ⟶ ▶",
    ".": ". ! 。 ！ …",
    "?": "? ？",
    "(": "( [ （ {",
    ")": ") ] ） }",
    "-": "- -- – — —— ⸺",
    "~": "- ~ ..",
    "\n": "\n",
}
_PHRASES = {
    "so far": "F",
    "roll call": "H",
    "for the record": "H",
    "instead of": "x",
    "rather than": "x",
    "in place of": "x",
    "never mind": "R",
    "scratch that": "R",
    "scratch this": "R",
    "strike that": "R",
    "ignore that": "R",
    "forget that": "R",
    "forget it": "R",
    "cancel that": "R",
    "make that": "K",
    "no wait": "K",
    "has to": "m",
    "have to": "m",
    "is to": "m",
    "are to": "m",
    "up next": "m",
    "supposed to": "b",
    "should have": "b",
    "could have": "b",
    "would have": "b",
    "must have": "b",
    "going to": "b",
    "you're": "m",
    "you are": "m",
    "you have": "m",
    "you've got": "m",
    "you get": "m",
    "you got": "m",
    "are you": "b",
    "have a look": "q",
    "has a look": "q",
    "have a peek": "q",
    "let's do": "m",
    "needs to": "m",
    "if you could": "m",
    "if you can": "m",
    "do not": "x",
    "does not": "x",
    "no need": "x",
    "how about": "m",
    "what about": "m",
    "what if": "m",
    "why don't": "m",
    "why not": "m",
    "let us": "m",
    "wonder if": "m",
    "wonder whether": "m",
    "that one": "p",
    "this one": "p",
    "according to": "v",
    "thanks to": "v",
    "no one": "e",
    "one of": "e",
    "looks at": "q",
    "looks into": "q",
    "for now": "a",
    "in case": "c",
    "as soon as": "c",
    "by the way": "a",
    "you'd be": "m",
    "star if": "D",
    "great if": "D",
    "good if": "D",
    "nice if": "D",
    "lovely if": "D",
    "helpful if": "D",
    "grateful if": "D",
    "appreciate it if": "D",
    "good call": "A",
    "good job": "A",
    "good idea": "A",
    "good work": "A",
    "great work": "A",
    "well done": "A",
    "waiting on": "v",
    "waiting for": "v",
    "wait for": "v",
    "would like": "D",
    "i'd like": "D",
    "i would like": "D",
    "i'd rather": "D",
    "i'd prefer": "D",
    "do you": "b",
    "does he": "b",
    "does she": "b",
    "front end": "j",
    "front-end": "j",
}
BASE = {word: symbol for symbol, words in _VOCABULARY.items() for word in words.split(" ") if word}
BASE |= {"\n": "\n"} | _PHRASES
PHRASE_WORDS = {tuple(phrase.split()) for phrase in _PHRASES}
FIRST_OF_PHRASE = {form for first, *_ in PHRASE_WORDS for form in (first, first.capitalize())}
