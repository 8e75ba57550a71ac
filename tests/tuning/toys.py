"""A small catalog with labels, and an encoder of BERT's kind that is trained in no time.

torch and transformers are imported when an encoder is made: each worker collects all tests, and one of them runs these.
"""

from __future__ import annotations

from types import SimpleNamespace
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


class ToyTransformer:
    """What a training needs of a sentence-transformers model: three layers of width 16, a token for each character."""

    def __init__(self) -> None:
        import torch
        from transformers import BertConfig, BertModel

        torch.manual_seed(5)
        config = BertConfig(
            vocab_size=130,
            hidden_size=16,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=32,
            initializer_range=1.0,  # texts apart: near ones would count as twins
        )
        self.bert = BertModel(config, add_pooling_layer=False)

    def __getitem__(self, place: int) -> Any:
        return SimpleNamespace(auto_model=self.bert)

    def eval(self) -> None:
        """No dropout."""
        self.bert.eval()

    def tokenizer(self, texts: list[str], *, max_length: int, **_: Any) -> dict[str, Any]:
        """Character codes, filled up with zeros."""
        import torch

        rows = [[1 + min(ord(letter), 127) for letter in text[:max_length]] for text in texts]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        return {"input_ids": ids, "attention_mask": (ids > 0).long()}
