"""Other words for the common verbs and nouns of tools: one general table, of no catalog.

>>> reworded("fetch the picture of the shop")
'get the image of the store'
>>> reworded("zzz")
'zzz'
"""

from __future__ import annotations

import re
from functools import cache

from core.planning.literals import HELD, masked
from core.planning.stems import stem

# one group a line: any word of it may stand for the first, and the first is said as the second
_GROUPS = """
get retrieve fetch obtain grab pull bring gather collect
find search locate seek discover look hunt
show display list present view see
make create build produce prepare generate
change update edit modify alter adjust amend
remove delete erase drop discard scrap wipe
send deliver dispatch transmit post forward
save store keep write file
read open load inspect
start run launch execute begin trigger
stop cancel halt end abort terminate
move transfer relocate shift
copy duplicate replicate clone
rename relabel retitle
convert turn transform change
translate render interpret
calculate compute work reckon figure determine
compare contrast weigh match
check verify validate confirm test ensure
summarise summarize condense digest boil shorten outline
explain describe clarify tell
sort order rank arrange
filter select pick choose sift
count tally number
draw plot chart graph sketch
book reserve schedule arrange
buy purchase order acquire
pay settle transfer remit
share publish release announce
merge combine join unite
split divide separate cut
extract parse pull take
track trace follow monitor watch
remind alert notify warn ping nudge
suggest recommend propose advise
rate score review grade assess
sign approve authorise endorse
fix repair mend correct
image picture photo photograph
store shop market retailer
message mail letter note
meeting appointment event session
document file text page
table spreadsheet sheet grid
folder directory
website site page web
article story piece report
paper study publication
price cost fee charge
flight plane
hotel lodging room stay
film movie
song track tune music
stock share equity
company firm business enterprise
customer client buyer
bill invoice
parcel package shipment
route way directions path
place location spot town city
doctor physician dentist
medicine drug tablet remedy
recipe dish meal
ticket issue task bug
repository repo project
build pipeline job
error failure fault problem
log record trace history
server machine host instance
database store warehouse
password passphrase secret
word term expression
language tongue
number figure value
date day
weather forecast
"""


@cache
def _table() -> dict[str, str]:
    """By stem: the word to say instead. The first group that has a word counts."""
    table: dict[str, str] = {}
    for line in _GROUPS.strip().splitlines():
        first, second, *_ = words = line.split()
        for word in words:
            table.setdefault(stem(word), second if word == first else first)
    return table


def reworded(text: str) -> str:
    """The text with each word that the table knows said differently; literals stay."""
    table = _table()
    held = masked(text)
    parts, at = [], 0
    for found in re.finditer(r"[A-Za-z]+", held):
        other = table.get(stem(found[0].lower()))
        if other is None or HELD in found[0] or found[0].isupper():
            continue
        plural = stem(found[0].lower()) != found[0].lower() and found[0].lower().endswith("s")
        parts += [text[at : found.start()], other + "s" * (plural and not other.endswith("s"))]
        at = found.end()
    return "".join((*parts, text[at:]))
