"""Forms of English words, and the first verbs of requests and descriptions, by rules without a dictionary.

The planner, the enriched documents, the virtual servers' texts and their output schemas all read tool names and descriptions.
Their common rules are here. Rules of only one reader (stop words, synonyms, the results of verbs) are in its module.

>>> singular("cities"), plural("city"), base_form("searches"), third_person("search"), past_participle("reply")
('city', 'cities', 'search', 'searches', 'replied')
"""

from __future__ import annotations

import re


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON_VERBS = words_of(
    """
    add analyse analyze append archive assign attach block book build buy calculate call cancel change check choose
    close collect combine compare compute convert copy count create crop cut delete deploy describe download draw edit
    enter estimate explain export extract fetch fill filter find fix forward generate get give import insert join keep
    list load log look make mark measure merge move open order organise pay pick place plan print publish pull push put
    query rank read record register remind remove rename render reply report reserve resize retrieve return rewrite
    rotate run save say scan schedule search select send set show sort split start stop store suggest sum summarise
    summarize switch take tell test track transcribe translate trim turn update upload validate verify watch write zip
    """
)
"""First words of requests ("Find the report"), and of descriptions ("Finds a report")."""

# First words of tool names, by their effect on the world.
DESTROYS = words_of("delete destroy erase wipe purge truncate kill terminate uninstall del rm rmdir")
REMOVES = words_of("remove drop revoke unlink flush discard clear reset overwrite prune hdel lrem srem zrem xdel")
"""Often harmless, as when a background is removed, a column dropped or a filter cleared."""
WRITES = words_of(
    """
    create write update insert upload send put modify save rename publish deploy install push commit
    submit buy pay cancel assign approve upsert
    """
)
"""Without words that are also nouns, such as order, book or post."""
READS = words_of(
    """
    get list read fetch search find show describe check view query count lookup look preview compare
    estimate validate verify is has what who calculate compute convert format parse analyze summarize
    recommend suggest explain browse track generate render draw plot simulate test scan detect inspect
    watch monitor poll export download retrieve info status
    """
)


def leading_verb(name_as_words: str) -> str:
    """Returns the first word of a name that is in one of the four lists, or "".

    >>> leading_verb("jira delete issue"), leading_verb("list deleted files")
    ('delete', 'list')
    """
    return next((word for word in name_as_words.lower().split() if word in _KNOWN), "")


_KNOWN = DESTROYS | REMOVES | WRITES | READS


_BASE_FORMS = {
    "does": "do",
    "goes": "go",
    "undoes": "undo",
    "has": "have",
    "is": "be",
    "analyses": "analyse",
    "diagnoses": "diagnose",
}
_PARTICIPLES = {
    "send": "sent", "set": "set", "write": "written", "put": "put", "pay": "paid", "buy": "bought", "run": "run",
    "cancel": "cancelled", "stop": "stopped", "submit": "submitted", "plan": "planned", "drop": "dropped",
    "log": "logged", "tag": "tagged", "build": "built", "pin": "pinned", "unpin": "unpinned", "draw": "drawn",
    "refund": "refunded", "transfer": "transferred", "do": "done",
}  # fmt: skip


def singular(word: str) -> str:
    """The word without the ending of a plural.

    >>> [singular(word) for word in ("classes", "books", "status", "reservations")]
    ['class', 'book', 'status', 'reservation']
    """
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def plural(noun: str) -> str:
    """The noun in the plural. A noun that looks like a plural stays.

    >>> [plural(noun) for noun in ("book", "class", "day", "query", "news")]
    ['books', 'classes', 'days', 'queries', 'news']
    """
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun
    if _ends_in_consonant_y(noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def stem(word: str) -> str:
    """The word without the ending of a plural, "ing" or "ed".

    The rule planner counts words by it. Porter's stems would change one in twenty of its decisions on labelled questions.

    >>> [stem(word) for word in ("cities", "booking", "books", "booked", "classes", "status")]
    ['city', 'book', 'book', 'book', 'class', 'status']
    """
    if (base := singular(word)) != word:
        return base
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word[: -len(ending)]
    return word


def base_form(verb: str) -> str:
    """The base form of a verb in the third person. Other words stay.

    >>> [base_form(verb) for verb in ("searches", "tries", "has", "gets", "pass")]
    ['search', 'try', 'have', 'get', 'pass']
    """
    if verb in _BASE_FORMS:
        return _BASE_FORMS[verb]
    if re.search(r"(?:ss|sh|ch|x|zz)es$", verb):
        return verb[:-2]
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    return verb[:-1] if re.search(r"[^su]s$", verb) and len(verb) > 3 else verb


def third_person(phrase: str) -> str:
    """A phrase with its verb in the third person.

    >>> third_person("look through"), third_person("carry out"), third_person("fix")
    ('looks through', 'carries out', 'fixes')
    """
    verb, space, rest = phrase.partition(" ")
    if _ends_in_consonant_y(verb):
        return f"{verb[:-1]}ies{space}{rest}"
    return f"{verb}{'es' if verb.endswith(('s', 'x', 'ch', 'sh', 'o')) else 's'}{space}{rest}"


def past_participle(verb: str) -> str:
    """The past participle of a verb.

    >>> past_participle("create"), past_participle("post"), past_participle("reply"), past_participle("send")
    ('created', 'posted', 'replied', 'sent')
    """
    if verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if _ends_in_consonant_y(verb):
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


def _ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in "aeiou"


_OPPOSITES = {
    frozenset(pair.split("/"))
    for pair in words_of(
        """
        accept/reject activate/deactivate add/delete add/remove allow/deny approve/reject archive/restore attach/detach
        back/forward backward/forward block/allow buy/sell close/open collapse/expand compress/decompress
        compress/extract connect/disconnect create/delete decode/encode decrease/increase decrypt/encrypt delete/restore
        disable/enable down/up download/upload end/start export/import first/last follow/unfollow
        from/to get/set hide/show in/out incoming/outgoing install/uninstall left/right like/dislike load/save lock/unlock
        login/logout lower/raise max/min maximize/minimize merge/split mute/unmute next/prev next/previous off/on old/new
        pause/resume pop/push pull/push read/write receive/send redo/undo remove/insert start/stop
        subscribe/unsubscribe unzip/zip
        """
    )
}


def opposite(one: str, other: str) -> bool:
    """Whether two names differ in one word only, and its two forms are opposites.

    >>> opposite("browser_go_back", "browserGoForward"), opposite("unprotect_sheet", "protect_sheet"), opposite("edit_file", "edit_block")
    (True, True, False)
    """
    words, others = (
        [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)] for name in (one, other)
    )
    differences = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(differences) != 1:
        return False
    short, long = sorted(differences[0], key=len)
    return frozenset(differences[0]) in _OPPOSITES or long in {f"un{short}", f"de{short}", f"dis{short}"}
