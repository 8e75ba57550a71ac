"""Classes of English words that show how a question is built. Other languages have none of them, and are left whole."""

from __future__ import annotations

from core.shared.english import COMMON_VERBS, words_of

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
