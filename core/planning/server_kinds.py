"""What kinds of servers there are, and the everyday words that point to each: one general table, of no catalog.

>>> kind_of("Do I need an umbrella in Oslo on Friday?")
'weather'
>>> kind_of("Who built the first cable car?"), kind_of("zzz")
('web search', '')
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from core.planning.literals import MASK, masked
from core.planning.stems import content
from core.shared.english import stem

# kind: words that point to it; one that says nothing by itself is left out
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
    """By word, in one form: the kinds that it points to; a word of several kinds counts for less."""
    rows = (line.split(": ") for line in _TABLE.strip().splitlines())
    table = {kind: {stem(word) for word in words.split()} for kind, words in rows}
    shared = Counter(word for words in table.values() for word in words)
    return {word: {kind: 1 / shared[word] for kind in table if word in table[kind]} for word in shared}


def kind_of(question: str) -> str:
    """The one kind that a question's words clearly point to; else a question of fact is one for a web search."""
    scores: Counter[str] = Counter()
    for word in content(masked(question).replace(MASK, " ")):
        scores.update(_weights().get(word, {}))
    (kind, best), (_, second) = (*scores.most_common(2), ("", 0.0), ("", 0.0))[:2]
    if best >= 1 and best >= CLEAR * second:
        return kind
    return "web search" if _FACT.match(question) else ""
