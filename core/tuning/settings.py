"""The settings of a training; the defaults made the file that comes with Wayfare."""

from __future__ import annotations

from dataclasses import dataclass

from core.shared.errors import ParameterError


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """How to tune. Raises ParameterError for a number below its least.

    `rate` is AdamW's highest, reached after a tenth of the steps, then straight down to nothing. Of the change `share` is kept,
    as factors of `rank`: what lies between the frozen and the tuned weights does better on other catalogs than either.

    >>> TuningSettings(rank=0)
    Traceback (most recent call last):
    core.shared.errors.ParameterError: rank is 0; give 1 or more.
    """

    layers: int = 3  # from the top, that learn
    rate: float = 1e-4
    epochs: int = 1
    batch: int = 32
    temperature: float = 0.05
    share: float = 0.75
    positives: int = 1  # of a query's right tools, drawn for each epoch
    synthetic: int = 1  # texts made from each tool, for each epoch
    hard: int = 20  # negatives that the frozen encoder ranks highest, one drawn for every second pair; 0: none
    max_tokens: int = 64
    seed: int = 11
    threads: int = 2
    bfloat16: bool = True  # for the products; weights and optimiser stay in float32
    rank: int = 46
    steps: int = 0  # stop after so many, for a trial; 0: all of them

    def __post_init__(self) -> None:
        for name in ("layers", "epochs", "batch", "positives", "max_tokens", "threads", "rank"):
            if (value := getattr(self, name)) < 1:
                raise ParameterError(f"{name} is {value}; give 1 or more.")
        for name in ("synthetic", "hard", "steps", "seed"):
            if (value := getattr(self, name)) < 0:
                raise ParameterError(f"{name} is {value}; give 0 or more.")
