"""Text that tries to instruct a model (tool poisoning). What each rule looks for is in `wording/<id>.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.domain.catalog import Catalog
from core.domain.lint import Finding, Severity
from core.lint.base import Context
from core.lint.phrases import PhraseRule

_TOOL_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-]\w+)+")


class OverridesInstructions(PhraseRule):
    """Instructions that replace those of the user or the operator: the plainest form of an injection."""

    id = "overrides_instructions"
    title = "Overrides instructions"
    severity = Severity.ERROR
    why = "A description is data; one that takes back the user's or the operator's instructions is an attack."
    says = "tells the model to drop its instructions or to take new ones"
    advice = "Do not put this tool before a model; take it out of the catalog and ask its author."


class HidesFromUser(PhraseRule):
    """Secrecy demanded of the model."""

    id = "hides_from_user"
    title = "Hides something from the user"
    severity = Severity.ERROR
    why = "A user can only object to what they are told; an honest tool needs no secrecy."
    says = "tells the model to keep something from the user"
    advice = "Do not put this tool before a model until you know what it hides; ask its author."


class ReadsSecrets(PhraseRule):
    """Key files and credentials that are to be read and handed over."""

    id = "reads_secrets"
    title = "Asks for secrets"
    severity = Severity.ERROR
    why = (
        "A model with a file or shell tool can read keys, and hands them over as an argument if a description says so."
    )
    says = "asks the model to read secrets and to pass them on"
    advice = "Do not put this tool before a model; take it out of the catalog and treat its server as hostile."


class SendsElsewhere(PhraseRule):
    """Data that is to go to an address in the text."""

    id = "sends_elsewhere"
    title = "Sends data elsewhere"
    severity = Severity.ERROR
    why = "An address in a description that data is to be copied to is how tool poisoning takes data out."
    says = "tells the model to send data elsewhere, or to redirect what another tool sends"
    advice = "Do not put this tool before a model; take it out of the catalog and treat its server as hostile."


class ChangesOtherTools(PhraseRule):
    """What other tools are to be called with, decided here (tool shadowing)."""

    id = "changes_other_tools"
    title = "Changes other tools"
    severity = Severity.ERROR
    why = "A description is read with all others: one tool can rewrite how another, trusted one is used."
    says = "tells the model how calls of other tools are to be changed"
    advice = "Do not put this tool before a model together with others; take it out of the catalog."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        """Orders about a server's own tools are its own business."""
        own = {server.name: {tool.name for tool in server.tools} for server in catalog.servers}
        for finding in super().check(catalog, context):
            named = _TOOL_NAME.findall(finding.evidence)
            if not named or not own[finding.server].issuperset(named):
                yield finding


class FakeTags(PhraseRule):
    """Tags and tokens that only a client or the model's own template may write."""

    id = "fake_tags"
    title = "Imitates a system message"
    severity = Severity.ERROR
    why = "Models give weight to tags such as <IMPORTANT> or <system>; interfaces often do not show them to people."
    says = "has markup that imitates a message of the system or hides from the eye"
    advice = "Do not put this tool before a model until the tag is gone; read what stands inside it."


class AsksForContext(PhraseRule):
    """The conversation, the user's words or the model's own prompt, asked for as an argument."""

    id = "asks_for_context"
    title = "Asks for the conversation"
    severity = Severity.WARNING
    why = (
        "What a model puts into an argument leaves the conversation: a tool should ask for what it needs, not for all."
    )
    says = "asks for the conversation, the user's words or what the model is and was told"
    advice = "Check that the tool needs it to work; if it is for analytics, leave the parameter out of calls."


class SkipsConsent(PhraseRule):
    """Questions to the user that the model is told not to ask."""

    id = "skips_consent"
    title = "Skips the user's consent"
    severity = Severity.WARNING
    why = "Whether the user is asked is the operator's decision, not a tool's."
    says = "tells the model not to ask the user"
    advice = "Set the confirmation rules in your client, where no description reaches them."
    reads_parameters = False  # a switch such as `force` says that there will be no question, and may


class ClaimsPrecedence(PhraseRule):
    """A claim to be used before, instead of or above all others."""

    id = "claims_precedence"
    title = "Claims precedence"
    severity = Severity.WARNING
    why = "Which tool fits is decided by what it does; one that asks to be first or only pulls calls away from others."
    says = "claims to come before or instead of other tools"
    advice = (
        "Ask for a description that says what the tool does; until then hand models only the tools that were routed to."
    )


class SteersModel(PhraseRule):
    """Orders about which tool to call when: often harmless, worth knowing."""

    id = "steers_model"
    title = "Steers the model"
    severity = Severity.NOTE
    why = "Orders in a description weigh on a model's choice, whether they are meant to help or to win."
    says = "gives the model orders about which tool to call, and when"
    advice = "Harmless where it orders a server's own tools; check that it does not reach beyond them."
    reads_parameters = False  # "use this instead" is about another parameter there
