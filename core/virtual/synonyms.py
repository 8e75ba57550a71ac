"""Synonyms for words in tool descriptions, and beginnings of descriptions."""

from __future__ import annotations

from core.shared.english import COMMON_VERBS

ANYWHERE = """
find: locate | finds: locates | finding: locating | fetch: retrieve, get | fetches: retrieves, gets | retrieve: fetch |
retrieves: fetches | delete: erase, remove | deletes: erases, removes | compute: calculate | computes: calculates |
calculate: compute | calculates: computes | choose: select, pick | chooses: selects, picks | suggest: propose |
suggests: proposes | propose: suggest | proposes: suggests | condense: shorten | condenses: shortens | purchase: buy |
generate: produce | generates: produces | modify: change | modifies: changes | examine: inspect | inspect: examine |
returning: giving back | contains: holds | gets: obtains | picture: image | pictures: images | image: picture | images:
pictures | location: place | locations: places | website: site | websites: sites | web page: page | latest: most recent
| most recent: latest | newest first: latest first, the newest ones first | sorted by: ordered by, in order of | ordered
by: sorted by | such as: for example, like | for instance: for example | for example: for instance | e.g.: for example,
for instance | together with: along with | along with: together with | immediately: at once, right away | because: since
| whether: if | several: a number of, a few | multiple: several | various: different | entire: whole | additional:
further | specific: particular | specified: given | usually: normally | normally: usually | often: frequently |
frequently: often | large: big | big: large | cheap: inexpensive | quickly: fast | currently: at present | optionally:
if wanted | matching: fitting | by itself: on its own | on its own: by itself | in full: completely | nearby: close by |
close to: near | keywords: search terms | snippet: excerpt | snippets: excerpts | excerpt: snippet | excerpts: snippets
| ranked: ordered | quick: fast | fast: quick | precise: exact | exact: precise | accurate: precise | brief: short |
instead of: rather than | rather than: instead of | depending on: according to | afterwards: later | at the same time:
simultaneously | one by one: one after the other | word for word: verbatim | step by step: one step at a time | in one
place: in a single place
"""
BEGINNING = """
search: look through, scan | show: display, present | get: obtain, fetch | list: enumerate, list out | create: make, set
up | give: provide, offer | check: verify, test | return: give back, hand back | send: dispatch, send out | start:
begin, launch | make: produce, create | change: alter, modify | count: tally, count up | sort: order, arrange | remove:
take away, delete | run: execute, carry out | turn: convert, transform | join: combine, put together | keep: retain,
hold on to | reserve: book, set aside | download: fetch, pull down | replace: exchange, substitute | move: shift,
transfer | build: assemble, put together | end: finish, terminate | stop: halt, end | collect: gather, bring together |
convert: transform | estimate: work out roughly, gauge | tell: report, say | summarise: sum up, condense | extract: pull
out, draw out | compare: contrast | draw: sketch, plot | open: bring up, open up | write: compose | look: take a look |
cancel: call off, revoke | rank: order, grade | publish: release, put out | rename: give a new name to, relabel
"""
RETURNS = ("gives back", "answers with", "hands back", "comes back with")
IMPERATIVE = (
    "Use this to {}", "Lets you {}", "Call this to {}", "With this you can {}", "Made to {}", "A way to {}",
    "Helps you {}", "Meant to {}",
)  # fmt: skip
THIRD = (
    "This tool {}", "A tool that {}", "This call {}", "An operation that {}", "A function that {}", "Something that {}",
    "A service that {}", "The tool that {}",
)  # fmt: skip
HEADS = (
    "In short", "In brief", "Put simply", "Briefly", "In a word", "In plain words", "In a nutshell", "Summed up",
    "What it does", "Its purpose", "Its job", "Its task", "Its use", "In essence", "At its core", "To the point",
    "Said shortly", "In one line",
)  # fmt: skip
PLAIN = tuple(f"{head}{mark}{{}}" for mark in (": ", " – ", " · ") for head in HEADS)

_VERBS = """
accept adjust answer apply arm ask assemble boil break browse charge classify clear complete compose condense correct
decide define deliver derive detect determine disarm dispatch display end erase execute forecast format freeze grep
guess hand have hold hunt inspect issue judge label land lay leave lend let locate lookup mute name paint parse pass pin
play predict project propose queue rate rebuild receive reduce refund repeat replace request rescue resolve respond
restore restrict reverse revert roll shift shrink sign stream subscribe sweep tally throw transfer type undo unlock view
weigh work wrap
"""
_NOUNS = """
answer block book call cash change charge check copy count cut draft end estimate export file filter forecast format fix
group hold hunt import issue join label land list load log look mark match measure move name order paint pass pay pin place
plan play print project pull push query queue rank rate read record report request return roll run scan schedule search
set shift show sign sort split start stop store stream sum switch table take tally test title track transfer turn type
update upload view watch work wrap
"""
_LEADERS = """
a an the one two your all every several each this these that any some its their up out in on off by over through whether
what which who how where when for from to with it them everything something anyone back new another both many more values
"""
VERBS = COMMON_VERBS | frozenset(_VERBS.split())
NOUNS = frozenset(_NOUNS.split())  # verbs that are as often nouns: what follows decides
LEADERS = frozenset(_LEADERS.split())  # what follows a verb, hardly ever a noun


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (row.split(":") for row in " ".join(text.split()).split("|") if row.strip())
    return {word.strip(): tuple(other.strip() for other in others.split(",")) for word, others in rows}


SYNONYMS = _table(ANYWHERE)
VERB_SYNONYMS = _table(BEGINNING)  # of the verb that a description begins with
