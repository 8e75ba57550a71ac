"""Words that say how an English question is built. Other languages have none of them, and are left whole."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN_VERBS = _words(
    """
    accept activate add adjust advise analyse analyze announce append apply arrange assess assign attach authorise
    authorize begin bring build buy calculate calendarise cancel capture change choose clear click close collect combine
    commit compare compile complete compose compress compute condense confirm connect consult convert correct create
    crop decide declare decode decompress decrypt deduplicate delete deploy describe detect determine disable disconnect
    discover dismiss divide download drag drop edit email enable encode encrypt enter erase estimate evaluate examine
    execute explain expand export express extract fetch fill filter find fix flag follow forecast format forward gather
    generate get give go grab hand hash highlight identify import include indent inform insert inspect install invite
    join keep launch leave let load locate log lookup lower make merge minify modify move mute notify obtain open
    organise organize outline overwrite parse paste pay pick plot poke predict prepare prettify print produce propose prove
    publish pull push put raise read reassign rebuild recall recognise recognize recommend reconcile redo reduce refresh
    refund register reject release remind remove rename render renew reopen reorder rephrase replace replicate reply
    reschedule reserve resize resolve respond restart restore retrieve return revert revoke rewrite rotate round run save
    say scan scrape see select send separate set settle shorten show shrink shut simplify smooth solve sort split
    squeeze start stop store stream strip submit subscribe subtract suggest summarise summarize swap switch tell test
    throw tidy tie transcribe transfer transform translate trim try turn type uninstall unlock unsubscribe unzip update
    upgrade upload use validate verify visualise visualize warn watch wipe withdraw write zip
    """
)
NOUN_VERBS = _words(
    """
    alert archive ask back bill block book call cast charge chart chat check comment contact copy count cut date design diff
    dispatch display document draft draw email end exchange fax figure file film gauge graph group guess hang help host
    invoice jot journal label lay lease lend lift line link list listen lock look mail map mark match measure meet message model
    monitor note offer order overlay pack page paint park phone photograph pin place plan play point post price process
    project query queue quote rank rate record repeat report request research review ring roll sample schedule score screen
    search share ship sign silence size sketch snap sound spell stack state step stick store study sum surface survey tabulate tag
    take talk tape tempt text time top total trace track trade trap trigger tweet value view vote weigh wire work wrap
    """
)
VERBS = PLAIN_VERBS | NOUN_VERBS
DETERMINERS = _words(
    """
    a an the this that these those my your our his her its their some any every each all both no another either neither
    which what whose one two three four five six seven eight nine ten first second third last next half more most
    several many few less enough whatever whichever
    """
)
PRONOUNS = _words("it them him her me us you they he she we i this that these those everything everyone everybody anyone "
                  "somebody someone something anything nothing whoever yourself itself themselves")  # fmt: skip
PARTICLES = _words("up out down in on off over back away through together apart around along into onto across")
PREPOSITIONS = _words("of to for with by at from about per via than in on into onto over under above below between among against near "
                      "within without since until during toward towards beside besides like inside outside behind beyond")  # fmt: skip
COMPLEMENTS = _words("if whether how what which who whom where when why that")
ASKING = _words("what which who whom whose where when why how whether")
AUXILIARIES = _words(
    "is are was were am do does did can could would will shall should may might has have had isn't aren't don't "
    "doesn't didn't can't couldn't wouldn't won't hasn't haven't"
)
ADVERBS = _words(
    """
    please kindly also then finally next afterwards afterward first firstly secondly thirdly lastly just maybe perhaps
    now again so too simply only quickly later meanwhile instead therefore once-more plus additionally besides and but or
    pls plz ok okay well right hey hi hello dear thanks
    """
)
SUBORDINATORS = _words("if once when whenever while after before until till unless because since although though as "
                       "wherever provided given")  # fmt: skip
SUBJECTS = _words("i we you he she they it somebody someone")
MODALS = _words("need want wants needs must should would like wish could can will shall may")
SEQUENCES = ("and then", "after that", "afterwards", "then", "finally", "next", "once done", "when done", "lastly",
             "first of all", "in the end", "at the end", "with that", "from that", "based on that", "subsequently")  # fmt: skip
STOP_WORDS = (
    DETERMINERS
    | PRONOUNS
    | PARTICLES
    | COMPLEMENTS
    | ASKING
    | AUXILIARIES
    | ADVERBS
    | SUBORDINATORS
    | MODALS
    | PREPOSITIONS
    | _words(
        """
        be been being not very really quite already yet still ever never
        there here let's i'm i've i'd i'll we're we've we'd it's that's what's who's where's how's let us get give
        something thing things way bit lot got give gets going im ive whats it'll they're you're like such own same
        """
    )
)
