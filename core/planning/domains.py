"""What kinds of servers there are, and the everyday words that point to each: one general table, of no catalog.

>>> domains("Do I need an umbrella in Oslo on Friday?")[0].server
'weather'
>>> domains("zzz")
()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from core.planning.literals import HELD, masked
from core.planning.stems import content, stem


@dataclass(frozen=True, slots=True)
class Domain:
    """A kind of server: its name, what its tools do in the words of tool descriptions, and the words that point to it."""

    server: str
    tool: str
    words: frozenset[str]


# server | what its tools do | words that point to it: one that says nothing by itself is left out
_TABLE = """
weather | weather forecast and climate for a place | weather forecast rain rainy raining snow snowing sunny sunshine umbrella temperature warm cold wind windy storm humidity climate frost thunderstorm
maps and routes | route, distance, directions and places on a map | route directions drive driving walk walking distance far map nearby nearest kilometres miles coordinates latitude longitude geocode address traffic parking pharmacy restaurant postcode gps elevation
flights and travel | search and book flights | flight flights fly flying airport airline plane boarding layover nonstop luggage
lodging | search and book hotels and rooms to stay | hotel hotels hostel lodging stay overnight guesthouse apartment sleep room rooms bed airbnb booking reservation
trains and tickets | timetables and tickets | train trains bus tram ferry timetable platform ticket tickets departure
e-mail | send, read and search e-mail messages | mail email mails emails inbox mailbox recipient unread newsletter attachment reply subject
team chat | post and read messages in a chat channel | chat channel slack dm thread messenger poll teammates ping
calendar | create, move and look up calendar events and reminders | calendar meeting meetings appointment appointments schedule reminder remind invite invitation busy event slot
notes | create, tag and search notes | note notes notebook jot memo diary
documents | create, edit and share documents | document documents doc docs page pages paragraph draft wording template contract
spreadsheets | read and write cells of a spreadsheet workbook | spreadsheet workbook worksheet excel xlsx cell cells pivot column columns
presentations | create slides of a presentation | slide slides presentation deck pptx powerpoint
pdf | merge, split, read and convert PDF files | pdf pdfs watermark ocr scan scanned
files | read, write, list, move and delete files in a folder | file files folder folders directory directories save path disk zip unzip archive
cloud storage | upload, copy and share objects in cloud storage buckets | bucket buckets upload storage object objects
databases | run SQL queries and describe tables of a database | database sql query table tables schema rows select join postgres mysql sqlite
tables and data | filter, sort, group and join rows of tabular data | csv tsv table rows column columns duplicate duplicates group average sort filter
statistics | compute mean, median, correlation and tests on numbers | mean median average correlation deviation significance regression outlier outliers percentile forecast variance trend
arithmetic | calculate expressions, solve equations | calculate compute sum equation solve multiply divide root percent percentage factor prime
units | convert between units of measurement | convert celsius fahrenheit inches feet metres meters miles litres gallons pounds ounces kilograms unit units
currencies | convert money between currencies at an exchange rate | currency euro euros dollar dollars pound yen franc francs krona exchange rate
time zones | current time, time zones and dates | timezone zone clock o'clock weekday date dates deadline workdays holiday holidays utc
web search | search the web for pages | google internet online web website websites site sites homepage link links guide guides article blog look search find
web pages | fetch, read and scrape web pages | url web page webpage scrape crawl html link site fetch browser
browser automation | open pages, click and fill forms in a browser | browser click form button login screenshot scroll tab
pictures | search, edit, resize and convert pictures | picture pictures photo photos image images photograph crop resize background thumbnail jpg png
charts | draw charts and diagrams | chart charts plot graph diagram histogram bars pie curve line heatmap flowchart
audio and speech | convert text to speech, transcribe audio | audio speech voice spoken listen mp3 transcribe recording pronounce aloud
video | find, cut and convert videos | video videos clip youtube subtitles trailer
translation | translate text between languages | translate translation german french spanish italian polish portuguese japanese english dutch czech finnish russian chinese language
languages | vocabulary, grammar and pronunciation for learners | vocabulary grammar conjugate conjugation verb flashcard flashcards phrase phrases pronunciation
encyclopaedia | look up facts and encyclopaedia articles | encyclopaedia encyclopedia wikipedia fact facts history founded invented born capital century
scientific literature | search papers and citations | paper papers study studies journal doi preprint citation citations cite cites research researchers thesis peer abstract
news | search news articles and headlines | news newspaper newspapers headline headlines press papers article articles reported reporter
finance and markets | stock prices, company figures and markets | stock stocks share shares ticker dividend market earnings portfolio fund bond analyst analysts quarter crypto bitcoin
personal money | track expenses, budgets and loans | budget expense expenses spending spent loan mortgage instalment interest savings account
invoices and payments | create, send and track invoices and payments | invoice invoices bill bills owe owes overdue payment pay paid payout refund reminder dunning
customers and sales | look up and update customers, deals and contacts | customer customers client clients deal deals lead leads opportunity opportunities contact pipeline crm
shopping | search products, compare prices and order | buy price prices cheap cheapest shop shops product products order cart seller basket review reviews return
parcels | track parcels, labels and postage | parcel parcels package shipment shipments courier tracking postage label carrier
food and recipes | search recipes, plan meals and ingredients | recipe recipes cook cooking ingredient ingredients dinner meal vegetarian bake kcal calories nutrition wine drink cheese
health and care | symptoms, medicines and doctors' appointments | doctor dentist symptom symptoms medicine dose tablet pain allergy health clinic headache
sport and fitness | training plans, runs and matches | training workout exercise exercises run running marathon match league team score football hockey tennis gym
films and series | search films, series, reviews and where to watch | film films movie movies cinema series episode actor director stream streaming watch
music | search songs, albums, lyrics and playlists | song songs album albums playlist band lyrics music singer concert tune tracks
books | search, borrow and recommend books | book novel novels author library isbn borrow read
repositories | read and change code, branches and pull requests in repositories | repository repo repos branch branches commit commits merge pull request requests code git pr release
builds and deployments | run, watch and roll back builds and deployments | build builds pipeline deploy deployment rollback rollout production staging release tests
containers | build images and run containers | container containers docker image images kubernetes pod registry
cloud machines | create and manage machines, networks and DNS names | machine machines vm server servers instance dns domain subdomain port firewall region
logs and monitoring | search logs, metrics, traces and alerts | log logs error errors metric metrics latency alert alerts incident incidents outage uptime monitor trace traces slow
security | scan for vulnerabilities, certificates and holes | vulnerability vulnerabilities cve cves certificate security hole holes exploit password passwords leak tls csp
packages and dependencies | versions, licences and dependencies of software packages | package packages dependency dependencies npm pypi version versions licence license library upgrade
text tools | count, compare, clean up and analyse text | text words word letters lines readability compare differences upper lower trim replace pattern regex spelling
encoding and hashing | encode, decode, hash, sign and generate identifiers | encode decode base64 hash sha md5 checksum uuid hmac jwt token hex
structured data | validate, format and convert JSON, YAML and XML | json yaml xml schema validate key keys nested minify format
codes | create QR codes and barcodes | qr barcode barcodes square code scan scannable
issue tracking | create, search and update tickets and tasks | ticket tickets issue issues bug bugs task tasks sprint backlog project epic
people and jobs | look up people, jobs and companies | job jobs vacancy candidate candidates hire hiring company companies employee employees
smart devices | control lamps, heating and other devices at home | lamp lamps lights thermostat heating blinds vacuum socket
"""  # noqa: E501


@cache
def table() -> tuple[Domain, ...]:
    """Every domain."""
    rows = (line.split("|") for line in _TABLE.strip().splitlines())
    return tuple(Domain(s.strip(), t.strip(), frozenset(map(stem, words.split()))) for s, t, words in rows)


def domains(text: str, count: int = 2, *, clear: bool = False) -> tuple[Domain, ...]:
    """The kinds of servers that a text's words point to, at most `count`, best first; a rarer word counts more.

    `clear`: only where a whole word's weight speaks for it, and half as much again as for the next.
    """
    said = content(masked(text).replace(HELD, " "))
    scored = [(sum(_weight(word) for word in said if word in domain.words), domain) for domain in table()]
    best = sorted(((score, domain) for score, domain in scored if score > 0), key=lambda pair: -pair[0])
    if clear and best and (best[0][0] < 1 or (len(best) > 1 and best[0][0] < 1.5 * best[1][0])):
        return ()
    return tuple(domain for score, domain in best[:count] if score * 2 > best[0][0])


@cache
def _weights() -> dict[str, float]:
    words: Sequence[str] = [word for domain in table() for word in domain.words]
    return {word: 1 / words.count(word) for word in set(words)}


def _weight(word: str) -> float:
    return _weights().get(word, 0.0)
