"""Words of a question: literals, tokens and sentences, classes of words, stems, and kinds of servers.

Quotations, addresses and pasted code are literals: data, not wording.

>>> masked('mail "first, then second" to a@b.example').replace(MASK, "_")
'mail ____________________ to ___________'
>>> plain("read https://a.example/x, mail notes.csv to a@b.example as 'the plan'")
'read web page, mail csv file to e-mail address as'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from core.domain.english import COMMON_VERBS, stem, words_of

MASK = "\u2d63"  # a letter that no question is written with: it counts as part of a word
_LITERALS = (
    ("code", r"```.{0,4000}?```|`[^`\n]{1,400}`"),
    ("web page", r"\bhttps?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]"),
    ("e-mail address", r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"),
    ("", r'"[^"]{1,2000}"|“[^”]{1,2000}”|«[^»]{1,2000}»'),
    ("", r"(?<!\w)['‘](?!\s)[^\n]{0,400}?(?<!\s)['’](?!\w)"),
)
_LITERAL = re.compile("|".join(f"({pattern})" for _, pattern in _LITERALS), re.DOTALL)
_FILES = "csv tsv json yaml yml xml html pdf md txt log png jpg jpeg svg gif mp3 wav mp4 docx xlsx pptx zip py"
_FILE = re.compile(rf"(?<![\w/.-])[\w/-]{{1,120}}\.({_FILES.replace(' ', '|')})\b")


def masked(text: str) -> str:
    """Returns the text with one `MASK` for each character of a literal. Offsets stay, so that rules about wording skip
    literals."""
    return _LITERAL.sub(lambda match: MASK * len(match[0]), text)


def plain(text: str) -> str:
    kinds = _LITERAL.sub(lambda match: _LITERALS[(match.lastindex or 1) - 1][0], text)
    return re.sub(r"[ \t]{2,}", " ", _FILE.sub(r"\1 file", kinds)).strip()


_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’./-]\w+)*|[^\w\s]")
_END = re.compile(r"(?<=[.!?;…])[)\]\"'”’]*\s+|(?<=[。！？；])|\s[-–—]+\s+|\n\s*")
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|mr|mrs|ms|dr|prof|st|approx|ca|incl|no|nr|fig|p|pp)|\b[A-Z])\.$", re.IGNORECASE
)
SHORT_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign: `raw` is the original text, `word` has lower case and a straight apostrophe."""

    raw: str
    start: int
    end: int
    word: str

    @property
    def literal(self) -> bool:
        return MASK in self.raw


def tokens_of(wording: str, start: int = 0) -> list[Token]:
    """Returns the tokens of a masked text that begins at `start` of a longer text.

    >>> [token.word for token in tokens_of(masked("Mail 'the plan' to Bo, at 9.30!"))][:4]
    ['mail', 'ⵣⵣⵣⵣⵣⵣⵣⵣⵣⵣ', 'to', 'bo']
    """
    matches = _TOKEN.finditer(wording)
    return [Token(t[0], start + t.start(), start + t.end(), t[0].lower().replace("’", "'")) for t in matches]


def sentences(wording: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each sentence in a masked text.

    >>> text = "See Dr. Lind at 9. Then e.g. call Bo"
    >>> [text[start:end] for start, end in sentences(text)]
    ['See Dr. Lind at 9.', 'Then e.g. call Bo']
    """
    start = 0
    for end in _END.finditer(wording):
        last_word = wording[max(start, end.start() - SHORT_CHARACTERS) : end.start()]
        if _SHORT.search(last_word) and "\n" not in end[0]:
            continue
        if wording[start : end.start()].strip():
            yield start, end.start()
        start = end.end()
    if wording[start:].strip():
        yield start, len(wording)


# Classes of English words that show the structure of a question; other languages have none and stay whole

VERBS = COMMON_VERBS | words_of(
    """
    arrange bring chart compile confirm decode draft email encode file go group help invite mail map modify note notify
    organize plot post prepare recommend reschedule research restart review score see share simplify submit tidy try use
    wire
    """
)
DETERMINERS = words_of(
    """
    a an the this that these those my your our his her its their some any every each all both no another what which whose
    one two three four five six seven eight nine ten first second next last
    """
)
PRONOUNS = words_of(
    "it them him her me us you they he she we i everything everyone everybody anyone somebody someone something anything"
)
INTERROGATIVES = words_of("what which who whom whose where when why how whether")
RELATIVE_PRONOUNS = words_of("which who whom whose where when")
AUXILIARIES = words_of(
    "is are was were am do does did can could would will shall should may might has have had isn't aren't don't doesn't "
    "didn't can't couldn't wouldn't won't"
)
ADVERBS = words_of(
    "please pls kindly also then finally next afterwards lastly just maybe perhaps now so and or but plus ok okay well "
    "hi hey hello thanks"
)
PREPOSITIONS = words_of(
    "of to for with by at from about per via than in on into onto over under between among against near within without "
    "since until during toward towards like"
)
PARTICLES = words_of("up out down off back away through together apart around along")
WISH_SUBJECTS = words_of("i we i'd we'd i'm we're")
WISH_VERBS = words_of("need want like love should wish looking")
STOP_WORDS = (
    DETERMINERS | PRONOUNS | INTERROGATIVES | AUXILIARIES | ADVERBS | PREPOSITIONS | PARTICLES | WISH_SUBJECTS | WISH_VERBS
    | words_of("not if because while as very there here let's be been being it's that's i've i'll we've get give thing things")
)  # fmt: skip
BACK_REFERENCES = words_of(
    "it its them they their this that these those one ones result results same former latter both the"
)


_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@lru_cache(maxsize=2048)
def content(text: str) -> tuple[str, ...]:
    """Returns the stems of the words that carry meaning, in order, each once. Literals count as their kinds.

    >>> content("Please list the files in https://a.example and mailTheReports")
    ('list', 'file', 'web', 'page', 'mail', 'report')
    """
    words = (match[0] for match in _WORD.finditer(_HUMP.sub(" ", plain(text))))
    return tuple(
        dict.fromkeys(stem(word) for word in map(str.lower, words) if word not in STOP_WORDS and len(word) > 1)
    )


# Kinds of servers, and the everyday words that point to them: a general table, independent of catalogs

# kind: words that point to it; vague words are left out
_TABLE = """
weather: weather forecast rain rainy raining snow snowing sunny sunshine umbrella temperature warm cold wind windy storm humidity climate frost thunderstorm
maps and routes: route directions drive driving walk walking distance far map nearby nearest kilometres miles coordinates latitude longitude geocode address traffic parking pharmacy restaurant postcode gps elevation
flights and travel: flight flights fly flying airport airline plane boarding layover nonstop luggage
lodging: hotel hotels hostel lodging stay overnight guesthouse apartment sleep room rooms bed airbnb booking reservation
trains and tickets: train trains bus tram ferry timetable platform ticket tickets departure
e-mail: mail email mails emails inbox mailbox recipient unread newsletter attachment reply subject
team chat: chat channel slack dm thread messenger poll teammates ping
calendar: calendar meeting meetings appointment appointments schedule reminder remind invite invitation busy event slot
notes: note notes notebook jot memo diary
documents: document documents doc docs page pages paragraph draft wording template contract
spreadsheets: spreadsheet workbook worksheet excel xlsx cell cells pivot column columns
presentations: slide slides presentation deck pptx powerpoint
pdf: pdf pdfs watermark ocr scan scanned
files: file files folder folders directory directories save path disk zip unzip archive
cloud storage: bucket buckets upload storage object objects
databases: database sql query table tables schema rows select join postgres mysql sqlite
tables and data: csv tsv table rows column columns duplicate duplicates group average sort filter
statistics: mean median average correlation deviation significance regression outlier outliers percentile forecast variance trend
arithmetic: calculate compute sum equation solve multiply divide root percent percentage factor prime
units: convert celsius fahrenheit inches feet metres meters miles litres gallons pounds ounces kilograms unit units
currencies: currency euro euros dollar dollars pound yen franc francs krona exchange rate
time zones: timezone zone clock o'clock weekday date dates deadline workdays holiday holidays utc
web search: google internet online web website websites site sites homepage link links guide guides article blog
web pages: url web page webpage scrape crawl html link site fetch browser
browser automation: browser click form button login screenshot scroll tab
pictures: picture pictures photo photos image images photograph crop resize background thumbnail jpg png
charts: chart charts plot graph diagram histogram bars pie curve line heatmap flowchart
audio and speech: audio speech voice spoken listen mp3 transcribe recording pronounce aloud
video: video videos clip youtube subtitles trailer
translation: translate translation german french spanish italian polish portuguese japanese english dutch czech finnish russian chinese language
languages: vocabulary grammar conjugate conjugation verb flashcard flashcards phrase phrases pronunciation
encyclopaedia: encyclopaedia encyclopedia wikipedia fact facts history founded invented born capital century
scientific literature: paper papers study studies journal doi preprint citation citations cite cites research researchers thesis peer abstract
news: news newspaper newspapers headline headlines press papers article articles reported reporter
finance and markets: stock stocks share shares ticker dividend market earnings portfolio fund bond analyst analysts quarter crypto bitcoin
personal money: budget expense expenses spending spent loan mortgage instalment interest savings account
invoices and payments: invoice invoices bill bills owe owes overdue payment pay paid payout refund reminder dunning
customers and sales: customer customers client clients deal deals lead leads opportunity opportunities contact pipeline crm
shopping: buy price prices cheap cheapest shop shops product products order cart seller basket review reviews return
parcels: parcel parcels package shipment shipments courier tracking postage label carrier
food and recipes: recipe recipes cook cooking ingredient ingredients dinner meal vegetarian bake kcal calories nutrition wine drink cheese
health and care: doctor dentist symptom symptoms medicine dose tablet pain allergy health clinic headache
sport and fitness: training workout exercise exercises run running marathon match league team score football hockey tennis gym
films and series: film films movie movies cinema series episode actor director stream streaming watch
music: song songs album albums playlist band lyrics music singer concert tune tracks
books: book novel novels author library isbn borrow read
repositories: repository repo repos branch branches commit commits merge pull request requests code git pr release
builds and deployments: build builds pipeline deploy deployment rollback rollout production staging release tests
containers: container containers docker image images kubernetes pod registry
cloud machines: machine machines vm server servers instance dns domain subdomain port firewall region
logs and monitoring: log logs error errors metric metrics latency alert alerts incident incidents outage uptime monitor trace traces slow
security: vulnerability vulnerabilities cve cves certificate security hole holes exploit password passwords leak tls csp
packages and dependencies: package packages dependency dependencies npm pypi version versions licence license library upgrade
text tools: text words word letters lines readability compare differences upper lower trim replace pattern regex spelling
encoding and hashing: encode decode base64 hash sha md5 checksum uuid hmac jwt token hex
structured data: json yaml xml schema validate key keys nested minify format
codes: qr barcode barcodes square code scan scannable
issue tracking: ticket tickets issue issues bug bugs task tasks sprint backlog project epic
people and jobs: job jobs vacancy candidate candidates hire hiring company companies employee employees
smart devices: lamp lamps lights thermostat heating blinds vacuum socket
"""
_FACT = re.compile(
    r"\W*(?:(?:in|at|on|from|of|by) )?(?:who|what|when|where|why|how|which|did|does|is|are|was|were)\b", re.I
)
CLEAR = 1.5  # times the weight of the next kind


@cache
def _weights() -> dict[str, dict[str, float]]:
    rows = (line.split(": ") for line in _TABLE.strip().splitlines())
    table = {kind: {stem(word) for word in words.split()} for kind, words in rows}
    kind_counts = Counter(word for words in table.values() for word in words)
    return {word: {kind: 1 / kind_counts[word] for kind in table if word in table[kind]} for word in kind_counts}


def kind_of(question: str) -> str:
    """Returns the kind that a question's words clearly point to. A question of fact without a kind needs a web search.

    >>> kind_of("Do I need an umbrella in Oslo on Friday?")
    'weather'
    >>> kind_of("Who built the first cable car?"), kind_of("zzz")
    ('web search', '')
    """
    scores: Counter[str] = Counter()
    for word in content(masked(question).replace(MASK, " ")):
        scores.update(_weights().get(word, {}))
    (kind, best), (_, second) = (*scores.most_common(2), ("", 0.0), ("", 0.0))[:2]
    if best >= 1 and best >= CLEAR * second:
        return kind
    return "web search" if _FACT.match(question) else ""
