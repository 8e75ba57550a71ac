"""Classes of English words that show how a question is built. Other languages have none of them, and are left whole."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


VERBS = words_of(
    """
    add analyse analyze append archive arrange assign attach block book bring build buy calculate call cancel change chart
    check choose close collect combine compare compile compute confirm convert copy count create crop cut decode delete
    deploy describe draft draw download edit email encode enter estimate explain export extract fetch file fill filter find
    fix forward generate get give go group help import insert invite join keep list load log look mail make map mark measure
    merge modify move note notify open order organise organize pay pick place plan plot post prepare print publish pull push
    put query rank read recommend record register remind remove rename render reply report reschedule research reserve resize
    restart retrieve return review rewrite rotate run save say scan schedule score search see select send set share show
    simplify sort split start stop store submit suggest sum summarise summarize switch take tell test tidy track transcribe
    translate trim try turn update upload use validate verify watch wire write zip
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
ASKING = words_of("what which who whom whose where when why how whether")
RELATIVE = words_of("which who whom whose where when")
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
WISHING = words_of("i we i'd we'd i'm we're")
WISHES = words_of("need want like love should wish looking")
STOP_WORDS = (
    DETERMINERS | PRONOUNS | ASKING | AUXILIARIES | ADVERBS | PREPOSITIONS | PARTICLES | WISHING | WISHES
    | words_of("not if because while as very there here let's be been being it's that's i've i'll we've get give thing things")
)  # fmt: skip
BACKWARDS = words_of("it its them they their this that these those one ones result results same former latter both the")
