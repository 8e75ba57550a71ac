"""The relevance model's constants, and the index that gives a query's signals for every tool.

    s       = sum over signals of w_n f_n(x_n)              f = z, damped for the signals of words
    z(x)    = (x - m) / sd                                  over the catalog's tools, shrunk towards PRIOR as if N0 more were there
    d(x)    = z(x) (6 / max z(x))^0.7                       a peak of one rare word counts less than in proportion
    lead_j  = s_j - max(GHOST, max over k != j of (s_k - TWIN same_jk))        ahead of the best tool that does something else
    spread  = - sum over i of w_i ln(sum over j of alike_ij w_j)               w = softmax(s / TEMPERATURE) over the thirty best; alike: 1 for
                                                            the tool itself, and if the best tool has requests the cosine of own texts
    doubt   = NOTHING . (spread, cosine, like, 1)           cosine: the best; like: of the best tool's nearest request (`core.relevance.requests`)
    p_fit_j = sigmoid(FIT . (min(lead_j, 0), max(lead_j, 0), 1))                P(nothing fits) = sigmoid(doubt)

`scoring.py` computes these. Every number comes from `model.toml`; docs/decisions/0015-relevance.md says how it was fitted.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.progress import made_once
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.lexical import Everyday, LexicalIndex, words_and_stems
from core.relevance.packaged_vectors import Examples, shipped_examples
from core.relevance.text_views import VIEWS, full, parameters, profile
from core.relevance.vectors import HalfRows, Moments

VIEW_MIX = {"full": 0.50, "own": 0.26, "tool": 0.24}  # of the dense views, mixed into a single matrix
SIGNALS = ("dense", "profile", "words", "everyday", "concept")
OF_WORDS = ("words", "everyday", "concept")
DAMPED = frozenset({"words", "everyday", "names"})
SMALL_TOOLS = (64, 120)
Prior = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class RequestModel:
    """Constants of the signals of example requests (`core.relevance.requests`). `slope` is the slope of the line of a tool without
    requests. `fit` holds if all tools have requests, and `nothing` if the likeliest tool has requests.
    """

    weights: Mapping[str, float]
    prior: Prior
    slope: Mapping[str, float]
    fit: Mapping[str, float]
    nothing: Mapping[str, float]
    temperature: float


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Constants by name. `prior` holds (mean, deviation) of each signal over the tools of large catalogs. `temperature` is the spread's, in
    units of a score.
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
        """A model from its tables. Raises KeyError for a missing table."""
        table = document["requests"]
        requests = RequestModel(
            dict(table["weights"]), prior_of(table), dict(table["slope"]), dict(table["fit"]), dict(table["nothing"]),
            float(table["temperature"]),
        )  # fmt: skip
        return cls(
            dict(document["weights"]), prior_of(document), dict(document["fit"]), dict(document["nothing"]),
            float(document["temperature"]), requests,
        )  # fmt: skip

    def with_requests(self, coverage: float, tools: int) -> RelevanceModel:
        """The model if the share `coverage` of `tools` has requests, in [0, 1]: their weights, and interpolated constants of p_fit.

        The constants of P(nothing fits) hold for more than a hundred tools. Fewer tools have fewer chances of a high cosine, which
        would raise the doubt. So up to 64 tools `small` is added to the logit, above 120 nothing.
        """
        constants = self.requests
        least, most = SMALL_TOOLS
        share = min(1.0, max(0.0, math.log(most / max(tools, 1)) / math.log(most / least)))
        nothing = {**constants.nothing, "one": constants.nothing["one"] + share * constants.nothing["small"]}
        fit = {name: (1 - coverage) * value + coverage * constants.fit[name] for name, value in self.fit.items()}
        temperature = (1 - coverage) * self.temperature + coverage * constants.temperature
        weights, requests = {**self.weights, **constants.weights}, replace(constants, nothing=nothing)
        return replace(self, weights=weights, fit=fit, temperature=temperature, requests=requests)


def prior_of(document: Mapping[str, Any]) -> Prior:
    return {name: (float(mean), float(deviation)) for name, (mean, deviation) in document["prior"].items()}


WORD_LENGTH_SHARE = 0.3  # BM25's b; the length of a schema says little about a tool
SMALL = 1e-6
GENERAL = 256  # questions that reveal requests near everything
MOMENTS = ("moments", "moments_of_profiles")
FLAT = 20_000
"""Up to so many tools, every tool is scored in every decision. Of a larger catalog the first are (`core.relevance.fit_matcher`)."""


class RelevanceIndex:
    """Immutable; safe for several threads. Built once for each catalog. `rows` (T, D) are the tools' mixed views. A large catalog has them in
    FAISS, and the `moments` of these rows and of the profiles of all tools' servers; a small catalog has no moments.

    `arrays` and `from_arrays` store and load the index without reading a text or schema.
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
        """Embeds new texts and indexes the words. `progress` gets the numbers of embedded texts and of all texts, `words` is a result of `words_of_tools`.
        A catalog of more than `flat` tools is large.
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
        """The index from the `arrays` of an index of the catalog's texts with the encoder `model`. Raises KeyError for a missing array."""
        lexical = LexicalIndex.from_arrays(_of_part(arrays, "words"), len(catalog.tools), words_of=words_and_stems)
        tools, servers = (_of_part(arrays, name) for name in MOMENTS)
        moments = (Moments.from_arrays(tools), Moments.from_arrays(servers)) if tools else None
        # plain array views: slicing a memmap is slow
        rows, own, profiles, concepts = (np.asarray(arrays[name]) for name in ("rows", "own", "profiles", "concepts"))
        tool_rows = rows if moments is None else HalfRows(rows)
        return cls(catalog, tool_rows, own, profiles, concepts, lexical, shipped_examples(model), moments)

    def arrays(self) -> dict[str, NDArray[Any]]:
        parts = {"words": self.lexical.arrays}
        if self.moments is not None:
            parts |= {name: moments.arrays for name, moments in zip(MOMENTS, self.moments, strict=True)}
        return {
            "rows": self.rows.halves if isinstance(self.rows, HalfRows) else self.rows,
            "own": self.own, "profiles": self._profiles, "concepts": self._concepts,
            **{f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()},
        }  # fmt: skip

    def likeness(self, rows: NDArray[np.int64]) -> Vectors:
        """(K, K) cosines between tools, by their own texts."""
        vectors = self.own[rows]
        return vectors @ vectors.T

    @property
    def general_questions(self) -> Vectors | None:
        return None if self._examples is None else self._examples.some(GENERAL)

    def dense(self, vector: Vectors, moved: Vectors | None = None) -> Vectors:
        """(T,) cosines with a query that examples move towards tools. `moved` (D,) replaces the query's `vector`."""
        return self.rows @ self.towards_tools(vector, moved)

    def towards_tools(self, vector: Vectors, moved: Vectors | None = None) -> Vectors:
        """(D,) the query of the dense signal: moved by examples, of length 1 if `moved` does not replace its `vector`."""
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
        zeros = np.zeros((len(OF_WORDS), len(self.server_of)), dtype=np.float32)
        words = self.fill_words(text, words_and_stems(text), zeros)
        return {
            "dense": self.dense(vector, moved),
            "profile": self.profiles(vector)[self.server_of],
            **dict(zip(OF_WORDS, words, strict=True)),
        }

    def profiles(self, vector: Vectors, servers: NDArray[np.int64] | None = None) -> Vectors:
        """(S,) cosines with the profiles of the servers, or of some of them."""
        return self._profiles @ vector if servers is None else self._profiles[servers] @ vector

    def fill_words(self, text: str, with_stems: Sequence[str], zeros: Vectors) -> Vectors:
        """Writes the signals of words into rows of zeros (3, T), in the order of `OF_WORDS`. `with_stems` are the words of the text with their stems."""
        everyday = self._everyday.met(text)
        words, tool_words, concept = zeros
        self.lexical.add(dict.fromkeys(with_stems, 1.0), words)
        self.lexical.add(self._everyday.words_of(everyday), tool_words)
        for row, weight in everyday.items():
            concept += np.float32(weight) * self._concepts[row]
        return zeros


def words_of_tools(catalog: Catalog) -> LexicalIndex:
    return LexicalIndex(
        [f"{full(tool)} {parameters(tool)}" for tool in catalog.tools], words_of=words_and_stems, b=WORD_LENGTH_SHARE
    )


def asked_text(query: str, hint: str) -> str:
    """The text to embed and look up for a sub-task, with its hint.

    >>> asked_text("read a file", "file access"), asked_text("read a file", "")
    ('file access: read a file', 'read a file')
    """
    return f"{hint}: {query}" if hint else query


def relevance_texts(catalog: Catalog) -> Sequence[str]:
    """All texts of a relevance index: view by view, then the servers' profiles and the everyday concepts."""
    return [
        *(VIEWS[name](tool) for name in VIEW_MIX for tool in catalog.tools),
        *(profile(server) for server in catalog.servers),
        *(" ".join(entry.words) for entry in Everyday.shipped().entries),
    ]


def server_of_tools(catalog: Catalog) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(catalog.servers)), [len(server.tools) for server in catalog.servers])


def _of_part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}


def _rounded(rows: Vectors) -> Vectors:
    """Rows (N, D) in steps of their greatest part by 32,767. Without it p_fit would differ by 1e-5 from stored decisions."""
    step = np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), 1e-9) / np.float32(32_767)
    return np.rint(rows / step) * step


def _spread(scores: Vectors) -> Vectors:
    if not scores.size:
        return scores
    centred = scores - scores.mean(axis=1, keepdims=True)
    return (centred / np.maximum(centred.std(axis=1, keepdims=True), SMALL)).astype(np.float32)
