"""The relevance model's constants, the example questions, and the index that gives a query's signals for every tool.

    s       = sum over signals of w_n f_n(x_n)              f = z, damped for the signals of words
    z(x)    = (x - m) / sd                                  over the catalog's tools, shrunk towards PRIOR as if N0 more were there
    d(x)    = z(x) (6 / max z(x))^0.7                       a peak of one rare word counts less than in proportion
    lead_j  = s_j - max(GHOST, max over k != j of (s_k - TWIN same_jk))        ahead of the best tool that does something else
    spread  = - sum over i of w_i ln(sum over j of alike_ij w_j)               w = softmax(s / TEMPERATURE) over the thirty best; alike: 1 for
                                                            the tool itself, and where the best tool has requests the cosine of own texts
    doubt   = NOTHING . (spread, cosine, like, 1)           cosine: the best; like: of the best tool's nearest request (`core.relevance.requests`)
    p_fit_j = sigmoid(FIT . (min(lead_j, 0), max(lead_j, 0), 1))                P(nothing fits) = sigmoid(doubt)

`scoring.py` computes these. Every number comes from `model.toml`; docs/decisions/0015-relevance.md says how it was fitted.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Tool
from core.domain.once import made_once
from core.relevance.encoder import CachedEncoder, Vectors, eight_bits
from core.relevance.half_rows import HalfRows, Moments
from core.relevance.lexical import Everyday, LexicalIndex, words_and_stems
from core.relevance.text_views import VIEWS, full, parameters, profile

VIEW_MIX = {"full": 0.50, "own": 0.26, "tool": 0.24}  # of the dense views: one mixed matrix, one product
SIGNALS = ("dense", "profile", "words", "everyday", "concept")
OF_WORDS = ("words", "everyday", "concept")
DAMPED = frozenset({"words", "everyday", "names"})
SMALL_TOOLS = (64, 120)
Prior = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class RequestModel:
    """Constants of the signals of example requests (`core.relevance.requests`). `slope` is that of the line of a tool without requests;
    `fit` holds where all tools have some, and `nothing` where the likeliest tool has some.
    """

    weights: Mapping[str, float]
    prior: Prior
    slope: Mapping[str, float]
    fit: Mapping[str, float]
    nothing: Mapping[str, float]
    temperature: float


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Constants by name. `prior` holds (mean, deviation) of each signal over the tools of large catalogs. `temperature` is that of the spread,
    in units of a score.
    """

    weights: Mapping[str, float]
    prior: Prior
    fit: Mapping[str, float]
    nothing: Mapping[str, float]
    temperature: float
    requests: RequestModel

    @classmethod
    @made_once
    def shipped(cls) -> RelevanceModel:
        """The shipped model.

        >>> sorted(RelevanceModel.shipped().weights) == sorted(SIGNALS)
        True
        """
        return cls.read(tomllib.loads(files("core.relevance").joinpath("model.toml").read_text(encoding="utf-8")))

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> RelevanceModel:
        """A model from its tables. Raises KeyError for a missing one."""
        asked = document["requests"]
        requests = RequestModel(
            dict(asked["weights"]), _prior(asked), dict(asked["slope"]), dict(asked["fit"]), dict(asked["nothing"]),
            float(asked["temperature"]),
        )  # fmt: skip
        return cls(
            dict(document["weights"]), _prior(document), dict(document["fit"]), dict(document["nothing"]),
            float(document["temperature"]), requests,
        )  # fmt: skip

    def with_requests(self, coverage: float, tools: int) -> RelevanceModel:
        """The model if a share of so many tools has requests, in [0, 1]: their weights, and constants of p_fit in between.

        The constants of P(nothing fits) are those of more than a hundred tools. Fewer tools have fewer chances of a high cosine, which
        would read as a doubt: up to 64 tools `small` is added to the logit, above 120 nothing.
        """
        asked = self.requests
        share = float(np.interp(np.log(max(tools, 1)), np.log(SMALL_TOOLS), (1.0, 0.0)))
        nothing = {**asked.nothing, "one": asked.nothing["one"] + share * asked.nothing["small"]}
        fit = {name: (1 - coverage) * value + coverage * asked.fit[name] for name, value in self.fit.items()}
        temperature = (1 - coverage) * self.temperature + coverage * asked.temperature
        return replace(
            self,
            weights={**self.weights, **asked.weights},
            fit=fit,
            temperature=temperature,
            requests=replace(asked, nothing=nothing),
        )


def _prior(document: Mapping[str, Any]) -> Prior:
    return {name: (float(mean), float(deviation)) for name, (mean, deviation) in document["prior"].items()}


# Example questions of general kinds of tools, which move a query towards tools
# Few people ask in the words of a tool: "chuck out old docker leftovers" means `prune`. 2,382 kinds of tools have sixteen questions
# each (relevance feedback; Rocchio 1971, where d is the mean of what is relevant):
#     near = cos(q, e), of a kind: that of its nearest example e
#     d    = sum over the five nearest kinds of softmax(near / 0.03) v_kind, of length 1       v: the kind's mixed views
#     sure = clip((greatest near - 0.30) / 0.35, 0, 1)
#     q'   = q + 0.7 sure d, of length 1
# The kinds and questions are in `data/examples.jsonl`. They were written without sight of any catalog or question that is used for
# judging. Their vectors ship for the shipped encoder; another encoder's queries are not moved.

DATA = Path(__file__).parent / "data"
TEXTS = DATA / "examples.jsonl"
QUESTIONS = 16  # of each kind
KINDS, TEMPERATURE = 5, 0.03
LOOKED_AT = 32  # kinds, nearest by their mean question, whose examples are compared
FAR, NEAR = 0.30, 0.65
SHARE = 0.7
GENERAL = 256  # questions that requests near everything are told by


@dataclass(frozen=True, slots=True)
class Examples:
    """K kinds of Q questions: `questions` (K, Q, D) of any length, with `lengths` (K, Q); `centres` (K, D), the normalised means of the
    unit vectors; and `tools` (K, D).
    """

    questions: NDArray[Any]
    lengths: NDArray[np.float32]
    centres: Vectors
    tools: Vectors

    @classmethod
    def of(cls, questions: Vectors, tools: Vectors) -> Examples:
        """From unit vectors of the questions, (K, Q, D)."""
        return cls(questions, np.ones(questions.shape[:2], dtype=np.float32), _unit(questions.mean(axis=1)), tools)

    def some(self, count: int) -> Vectors:
        """(B, D) about `count` of the questions, of as many kinds."""
        step = max(1, len(self.questions) // count)
        return self.questions[::step, 0].astype(np.float32) / self.lengths[::step, :1]

    def shift(self, vector: Vectors) -> Vectors:
        """(D,) -> (D,): 0.7 sure d, which is added to a query. Zeros if no example is near.

        >>> one = Examples.of(np.eye(3, dtype=np.float32)[[[0]] * 6], np.eye(3, dtype=np.float32)[[2] * 6])
        >>> one.shift(np.array([1, 0, 0], dtype=np.float32)), one.shift(np.array([0, 1, 0], dtype=np.float32))
        (array([0. , 0. , 0.7], dtype=float32), array([0., 0., 0.], dtype=float32))
        """
        means = self.centres @ vector
        looked_at = np.argpartition(-means, LOOKED_AT)[:LOOKED_AT] if len(means) > LOOKED_AT else np.arange(len(means))
        cosines = self.questions[looked_at].astype(np.float32) @ vector / self.lengths[looked_at]
        near = cosines.max(axis=1)
        first = np.argpartition(-near, KINDS)[:KINDS]
        greatest = float(near[first].max())
        sure = min(max((greatest - FAR) / (NEAR - FAR), 0.0), 1.0)
        if not sure:
            return np.zeros_like(vector)
        weights = np.exp((near[first] - greatest) / TEMPERATURE)
        direction = weights @ self.tools[looked_at[first]]
        return (SHARE * sure / np.linalg.norm(direction) * direction).astype(np.float32)


@made_once
def shipped_examples(model: str) -> Examples | None:
    """The examples as a model's vectors. None if no vectors ship for the model, or they are of other texts.

    The questions stay on disk, mapped into memory: a query reads a fiftieth of them.
    """
    questions, kinds = vector_files(model)
    if not (questions.is_file() and kinds.is_file()):
        return None
    with np.load(BytesIO(kinds.read_bytes()), allow_pickle=False) as known:
        if str(known["texts"]) != digest():
            return None
        mapped = np.load(questions, mmap_mode="r", allow_pickle=False)
        return Examples(mapped, known["lengths"], *(known[name].astype(np.float32) for name in ("centres", "tools")))


def write_examples(encoder: CachedEncoder) -> tuple[Path, Path]:
    """Embed the texts and write their vectors: questions in 8 bits, vectors of kinds in 16."""
    kinds = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    tools = [Tool(kind["server"], kind["tool"], kind["description"]) for kind in kinds]
    asked: Vectors = encoder.encode_documents([text for kind in kinds for text in kind["questions"]])
    coarse = eight_bits(asked).reshape(len(kinds), QUESTIONS, -1)
    mixed = sum(
        np.float32(share) * encoder.encode_documents([VIEWS[view](tool) for tool in tools])
        for view, share in VIEW_MIX.items()
    )
    questions, of_kinds = vector_files(encoder.model)
    np.save(questions, coarse)
    np.savez_compressed(
        of_kinds,
        texts=np.array(digest()),
        lengths=np.linalg.norm(coarse.astype(np.float32), axis=2),
        centres=_unit(asked.reshape(coarse.shape).mean(axis=1)).astype(np.float16),
        tools=np.asarray(mixed, dtype=np.float16),
    )
    return questions, of_kinds


def vector_files(model: str) -> tuple[Path, Path]:
    """The files of a model's vectors: of the questions, and of the kinds."""
    return DATA / f"{model}.npy", DATA / f"{model}.npz"


def digest() -> str:
    """The digest of the texts, which ties vectors to them."""
    return hashlib.sha256(TEXTS.read_bytes()).hexdigest()[:16]


def _unit(rows: NDArray[np.float32]) -> Vectors:
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)


# The index: vectors and words of the tools, and the signals of one query

WORD_LENGTH_SHARE = 0.3  # BM25's b: the length of a schema says little about a tool
SMALL = 1e-6
MOMENTS = ("moments", "moments_of_profiles")
FLAT = 20_000
"""Tools up to which every one is scored in every decision. Of a larger catalog the first ones are (`core.relevance.fit_matcher`)."""


class RelevanceIndex:
    """Immutable; safe for several threads. Built once for each catalog. `rows` (T, D) are the tools' mixed views. A large catalog has them in
    FAISS, and the `moments` of these and of the profiles of all tools' servers; a small one has none.

    `arrays` and `from_arrays` are for keeping it: no text and no schema is read to make it of its arrays again.
    """

    def __init__(
        self,
        catalog: Catalog,
        rows: Vectors | HalfRows,
        own: Vectors,
        profiles: Vectors,
        concepts: Vectors,
        lexical: LexicalIndex,
        examples: Examples | None = None,
        moments: tuple[Moments, Moments] | None = None,
    ) -> None:
        self.own = own
        self.server_of = server_of_tools(catalog)
        self.servers = len(catalog.servers)
        self.rows = rows
        self._profiles = profiles
        self._concepts = concepts
        self.lexical = lexical
        self._examples = examples
        self._everyday = Everyday.shipped()
        self.moments = moments

    @classmethod
    def build(
        cls,
        catalog: Catalog,
        encoder: CachedEncoder,
        *,
        progress: Callable[[int, int], None] | None = None,
        words: LexicalIndex | None = None,
        flat: int = FLAT,
    ) -> RelevanceIndex:
        """Embed new texts and index the words. `progress` gets the embedded texts and their total, `words` are those of `words_of_tools`, if they are known.
        A catalog of more than `flat` tools is a large one.
        """
        texts = [*relevance_texts(catalog)]
        vectors = encoder.encode_documents(texts, progress=progress)
        count, servers = len(catalog.tools), len(catalog.servers)
        views = {name: vectors[place * count : (place + 1) * count] for place, name in enumerate(VIEW_MIX)}
        profiles = _rounded(vectors[len(VIEW_MIX) * count :][:servers])
        concepts = vectors[len(VIEW_MIX) * count + servers :]
        mixed = np.zeros_like(views["full"])
        for name, share in VIEW_MIX.items():
            mixed += np.float32(share) * views[name]
        mixed = _rounded(mixed)
        sizes = np.array([len(server.tools) for server in catalog.servers])
        return cls(
            catalog,
            HalfRows(mixed.astype(np.float16)) if count > flat else mixed,
            _rounded(views["own"]),
            profiles,
            _rounded(_spread(concepts @ views["full"].T)),
            words_of_tools(catalog) if words is None else words,
            shipped_examples(encoder.model),
            (Moments.of(mixed), Moments.of(profiles, sizes)) if count > flat else None,
        )

    @classmethod
    def from_arrays(cls, catalog: Catalog, model: str, arrays: Mapping[str, NDArray[Any]]) -> RelevanceIndex:
        """The index with the `arrays` of one that was built for the same texts with the encoder `model`. Raises KeyError for a missing one."""
        lexical = LexicalIndex.from_arrays(_of_part(arrays, "words"), len(catalog.tools), words_of=words_and_stems)
        tools, servers = (_of_part(arrays, part) for part in MOMENTS)
        moments = (Moments.from_arrays(tools), Moments.from_arrays(servers)) if tools else None
        # views without the file of a mapped array, which makes each slice slow
        rows, own, profiles, concepts = (np.asarray(arrays[name]) for name in ("rows", "own", "profiles", "concepts"))
        held = rows if moments is None else HalfRows(rows)
        return cls(catalog, held, own, profiles, concepts, lexical, shipped_examples(model), moments)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, by name."""
        parts = {"words": self.lexical.arrays}
        if self.moments is not None:
            parts |= {part: of.arrays for part, of in zip(MOMENTS, self.moments, strict=True)}
        return {
            "rows": self.rows.halves if isinstance(self.rows, HalfRows) else self.rows,
            "own": self.own, "profiles": self._profiles, "concepts": self._concepts,
            **{f"{part}.{name}": array for part, of in parts.items() for name, array in of.items()},
        }  # fmt: skip

    @property
    def general_questions(self) -> Vectors | None:
        """(B, D) questions of all kinds. Returns None if none ship for the encoder."""
        return None if self._examples is None else self._examples.some(GENERAL)

    def dense(self, vector: Vectors, moved: Vectors | None = None) -> Vectors:
        """(T,) cosines with a query that examples move towards tools. `moved` (D,) replaces its `vector`."""
        return self.rows @ self.towards_tools(vector, moved)

    def towards_tools(self, vector: Vectors, moved: Vectors | None = None) -> Vectors:
        """(D,) the query that the dense signal compares: moved by examples, of length 1 where `moved` does not replace its `vector`."""
        base = vector if moved is None else moved
        if self._examples is None:
            return base
        shift = self._examples.shift(vector)
        length = max(float(np.linalg.norm(vector + shift)), SMALL)
        return ((base + shift) / length).astype(np.float32)

    def signals(self, text: str, vector: Vectors, moved: Vectors | None = None) -> dict[str, Vectors]:
        """A query's signals for every tool before normalising, (T,) each.

        `vector` (D,) is the text's; `moved` replaces it in the dense signal.
        """
        return {
            "dense": self.dense(vector, moved),
            "profile": self.profiles(vector)[self.server_of],
            **self.signals_of_words(text),
        }

    def profiles(self, vector: Vectors, servers: NDArray[np.int64] | None = None) -> Vectors:
        """(S,) cosines with the profiles of the servers, or of some of them."""
        return self._profiles @ vector if servers is None else self._profiles[servers] @ vector

    def signals_of_words(self, text: str) -> dict[str, Vectors]:
        """The signals of a query that no vector is compared for, (T,) each."""
        found = np.zeros((len(OF_WORDS), len(self.server_of)), dtype=np.float32)
        return dict(zip(OF_WORDS, self.fill_words(text, words_and_stems(text), found), strict=True))

    def fill_words(self, text: str, with_stems: Sequence[str], zeros: Vectors) -> Vectors:
        """The same in rows of zeros (3, T), in the order of `OF_WORDS`. `with_stems` are the words of the text with their stems."""
        everyday = self._everyday.met(text)
        words, tool_words, concept = zeros
        self.lexical.add(dict.fromkeys(with_stems, 1.0), words)
        self.lexical.add(self._everyday.words_of(everyday), tool_words)
        for row, weight in everyday.items():
            concept += np.float32(weight) * self._concepts[row]
        return zeros


def words_of_tools(catalog: Catalog) -> LexicalIndex:
    """The words of a catalog's tools: names, descriptions and parameters."""
    return LexicalIndex(
        [f"{full(tool)} {parameters(tool)}" for tool in catalog.tools], words_of=words_and_stems, b=WORD_LENGTH_SHARE
    )


def asked_text(subtask: str, hint: str) -> str:
    """The text that is embedded and looked up for a sub-task: with its hint.

    >>> asked_text("read a file", "file access"), asked_text("read a file", "")
    ('file access: read a file', 'read a file')
    """
    return f"{hint}: {subtask}" if hint else subtask


def relevance_texts(catalog: Catalog) -> Sequence[str]:
    """Every text that a relevance index embeds: view by view, then the servers' profiles and the everyday concepts."""
    return [
        *(VIEWS[name](tool) for name in VIEW_MIX for tool in catalog.tools),
        *(profile(server) for server in catalog.servers),
        *(" ".join(entry.words) for entry in Everyday.shipped().entries),
    ]


def server_of_tools(catalog: Catalog) -> NDArray[np.int64]:
    """(T,) the row of each tool's server."""
    return np.repeat(np.arange(len(catalog.servers)), [len(server.tools) for server in catalog.servers])


def _of_part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}


def _rounded(rows: Vectors) -> Vectors:
    """Rows (N, D) in steps of their greatest part by 32,767: without it p_fit would differ by 1e-5 from what stored decisions say."""
    step = np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), 1e-9) / np.float32(32_767)
    return np.rint(rows / step) * step


def _spread(scores: Vectors) -> Vectors:
    """Rows (N, T) with mean 0 and deviation 1 over the tools."""
    if not scores.size:
        return scores
    centred = scores - scores.mean(axis=1, keepdims=True)
    return (centred / np.maximum(centred.std(axis=1, keepdims=True), SMALL)).astype(np.float32)
