"""A small catalog with labels, and an encoder of BERT's kind that is trained in no time.

torch and transformers are imported when an encoder is made: each worker collects all tests, and one of them runs these.
"""

from __future__ import annotations

from typing import Any

from core.domain.catalog import Tool
from core.domain.tasks import Step, Task
from core.relevance.tuning.judging import LabelledCatalog

TOOLS = tuple(
    Tool(server, name, text, input_schema={"properties": {"target": {"description": "What it is done to"}}})
    for server, name, text in (
        ("files", "read_file", "Reads a text file from the disk and returns it. Large files are cut."),
        ("files", "write_file", "Writes a text to a file on the disk. It replaces what was there before."),
        ("mail", "send_mail", "Sends a message to somebody by e-mail, with attachments where there are any."),
        ("mail", "find_mail", "Searches the mailbox for messages. Sorted by date, the latest come first."),
        ("web", "search", "Searches the web for pages about a topic and returns titles and links."),
        ("web", "fetch", "x"),
    )
)
TASKS = (
    Task("1", "open the notes", relevant=("files::read_file",), question="what do my notes say"),
    Task("2", "tell Ann by mail", relevant=("mail::send_mail",)),
    Task("3", "refuse this"),
    Task(
        "4",
        "look it up and keep it",
        relevant=("web::search", "files::write_file"),
        plan=(Step("web::search", subtask="look it up"), Step("files::write_file", needs=(0,), subtask="keep it")),
    ),
    Task("5", "a tool of another catalog", relevant=("moon::land",)),
)
CATALOG = LabelledCatalog("toy", TOOLS, TASKS, (frozenset({"mail::find_mail", "web::search"}),))


def toy_transformer() -> Any:
    """A sentence-transformers model of BERT's kind: three layers of width 16, a token for each character."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import InputModule
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel

    class Letters(InputModule):
        def __init__(self) -> None:
            super().__init__()
            config = BertConfig(
                vocab_size=130, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
                initializer_range=1.0,  # texts apart: near ones would count as twins
            )  # fmt: skip
            self.auto_model = BertModel(config, add_pooling_layer=False)
            self.max_seq_length = 64

        def preprocess(self, inputs: list[str], **_: Any) -> dict[str, Any]:
            """Character codes, filled up with zeros."""
            rows = [[1 + min(ord(letter), 127) for letter in text[: self.max_seq_length]] for text in inputs]
            ids = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
            return {"input_ids": ids, "attention_mask": (ids > 0).long()}

        def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
            output = self.auto_model(input_ids=features["input_ids"], attention_mask=features["attention_mask"])
            return {**features, "token_embeddings": output.last_hidden_state}

        def save(self, *_: Any, **__: Any) -> None:
            """It is not kept."""

    torch.manual_seed(5)
    return SentenceTransformer(modules=[Letters(), Pooling(16)], device="cpu")
