"""Statistics over lists of numbers."""

from bisect import bisect_left, bisect_right
from math import sqrt
from statistics import NormalDist, correlation, fmean, linear_regression, median, multimode, pstdev, quantiles, stdev
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

Number = Annotated[float, Field(ge=-1e60, le=1e60)]
Numbers = Annotated[list[Number], Field(description="The numbers", min_length=1, max_length=100_000)]
Sample = Annotated[list[Number], Field(description="The numbers, two or more", min_length=2, max_length=100_000)]
Seed = Annotated[int, Field(description="Seed of the random numbers: the same seed gives the same result", ge=0)]

server = MCPServer(
    "statistics-lab",
    title="Statistics lab",
    description="Descriptive and inferential statistics: summaries, correlation, regression, outliers, tests, samples.",
    instructions="Give numbers as lists. Results that use chance take a seed and are repeatable.",
    version="1.3.0",
    log_level="WARNING",
)


class Summary(BaseModel):
    """A list of numbers in a few figures."""

    count: int
    total: float
    mean: float
    median: float
    standard_deviation: float = Field(description="Of a sample; 0 for one number")
    minimum: float
    maximum: float
    quartiles: list[float]
    modes: list[float]


class Line(BaseModel):
    """A straight line through points."""

    slope: float
    intercept: float
    r_squared: float
    prediction: float | None


class Comparison(BaseModel):
    """Two samples side by side."""

    mean_difference: float
    welch_t: float
    degrees_of_freedom: float
    p_value: float = Field(description="Two-sided, from 2,000 random relabellings")
    effect_size: float = Field(description="Cohen's d")


class Interval(BaseModel):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


@server.tool(title="Describe numbers", annotations=READS)
def describe_numbers(numbers: Numbers) -> Summary:
    """Summarise numbers: count, sum, mean, median, standard deviation, range, quartiles and most frequent values."""
    return Summary(
        count=len(numbers),
        total=sum(numbers),
        mean=fmean(numbers),
        median=median(numbers),
        standard_deviation=stdev(numbers) if len(numbers) > 1 else 0.0,
        minimum=min(numbers),
        maximum=max(numbers),
        quartiles=quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3,
        modes=multimode(numbers)[:20],
    )


@server.tool(title="Percentile", annotations=READS)
def percentile(numbers: Numbers, percent: Annotated[float, Field(description="0 to 100", ge=0, le=100)]) -> float:
    """Find the value below which a percentage of the numbers lies, interpolated."""
    ordered = sorted(numbers)
    low, part = divmod(percent / 100 * (len(ordered) - 1), 1)
    high = ordered[min(int(low) + 1, len(ordered) - 1)]
    return ordered[int(low)] * (1 - part) + high * part


@server.tool(title="Correlation", annotations=READS)
def correlate(
    x: Annotated[list[Number], Field(description="First list", min_length=2, max_length=100_000)],
    y: Annotated[
        list[Number], Field(description="Second list, as long as the first", min_length=2, max_length=100_000)
    ],
    method: Annotated[Literal["pearson", "spearman"], Field(description="Of values, or of ranks")] = "pearson",
) -> float:
    """Measure how strongly two lists of numbers move together, from -1 to 1."""
    _paired(x, y)
    _varied(x, y)
    return round(correlation(x, y) if method == "pearson" else correlation(_ranks(x), _ranks(y)), 12)


@server.tool(title="Fit a line", annotations=READS)
def fit_line(
    x: Annotated[list[Number], Field(description="Horizontal values", min_length=2, max_length=100_000)],
    y: Annotated[list[Number], Field(description="Vertical values", min_length=2, max_length=100_000)],
    predict_at: Annotated[Number | None, Field(description="Also predict y for this x")] = None,
) -> Line:
    """Fit a straight line by least squares (linear regression) and optionally predict a value."""
    _paired(x, y)
    _varied(x)
    slope, intercept = linear_regression(x, y)
    fit = 1.0 if len(set(y)) == 1 else correlation(x, y) ** 2
    return Line(
        slope=slope,
        intercept=intercept,
        r_squared=min(1.0, fit),
        prediction=None if predict_at is None else intercept + slope * predict_at,
    )


@server.tool(title="Histogram counts", annotations=READS)
def histogram_counts(
    numbers: Numbers, bins: Annotated[int, Field(description="How many intervals", ge=1, le=200)] = 10
) -> dict[str, list[float]]:
    """Count how many numbers fall into each of several intervals of equal width."""
    import numpy as np

    counts, edges = np.histogram(numbers, bins=bins)
    return {"edges": edges.tolist(), "counts": counts.astype(float).tolist()}


@server.tool(title="Outliers", annotations=READS)
def find_outliers(
    numbers: Annotated[list[Number], Field(description="The numbers, four or more", min_length=4, max_length=100_000)],
    fence: Annotated[float, Field(description="Allowed distance from the quartiles, in quartile ranges", gt=0)] = 1.5,
) -> list[float]:
    """Find the numbers that lie far outside the middle half (Tukey's fences)."""
    low, _, high = quantiles(numbers, n=4, method="inclusive")
    reach = fence * (high - low)
    return [number for number in numbers if not low - reach <= number <= high + reach]


@server.tool(title="Moving average", annotations=READS)
def moving_average(
    numbers: Numbers, window: Annotated[int, Field(description="How many neighbouring numbers to average", ge=1)] = 3
) -> list[float]:
    """Smooth a series by averaging each run of neighbouring numbers."""
    if window > len(numbers):
        raise ToolError(f"the window of {window} is longer than the series of {len(numbers)}")
    return [fmean(numbers[start : start + window]) for start in range(len(numbers) - window + 1)]


@server.tool(title="Compare two samples", annotations=READS)
def compare_samples(first: Sample, second: Sample, seed: Seed = 1) -> Comparison:
    """Test whether two samples have different means: Welch's t, a permutation p-value and the effect size."""
    import numpy as np

    a, b = np.array(first), np.array(second)
    difference, noise_a, noise_b = a.mean() - b.mean(), a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if noise_a + noise_b == 0:
        raise ToolError("neither sample varies: there is nothing to test")
    pooled, rng = np.concatenate([a, b]), np.random.default_rng(seed)
    shuffled = (rng.permutation(pooled) for _ in range(2000))
    extreme = sum(abs(s[: len(a)].mean() - s[len(a) :].mean()) >= abs(difference) * (1 - 1e-12) for s in shuffled)
    freedom = (noise_a + noise_b) ** 2 / (noise_a**2 / (len(a) - 1) + noise_b**2 / (len(b) - 1))
    spread = sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2))
    return Comparison(
        mean_difference=float(difference),
        welch_t=float(difference / sqrt(noise_a + noise_b)),
        degrees_of_freedom=float(freedom),
        p_value=float((extreme + 1) / 2001),
        effect_size=float(difference / spread),
    )


@server.tool(title="Confidence interval", annotations=READS)
def confidence_interval(
    numbers: Sample, level: Annotated[float, Field(description="Confidence, for example 0.95", gt=0.5, lt=1)] = 0.95
) -> Interval:
    """Estimate the mean with its confidence interval (normal approximation)."""
    mean, reach = fmean(numbers), NormalDist().inv_cdf((1 + level) / 2) * stdev(numbers) / sqrt(len(numbers))
    return Interval(mean=mean, low=mean - reach, high=mean + reach)


@server.tool(title="Standardise", annotations=READS)
def standardise(numbers: Sample) -> list[float]:
    """Convert numbers to z-scores."""
    _varied(numbers)
    mean, spread = fmean(numbers), pstdev(numbers)
    return [(number - mean) / spread for number in numbers]


@server.tool(title="Distance between vectors", annotations=READS)
def vector_distance(
    first: Annotated[list[Number], Field(description="One vector", min_length=1, max_length=10_000)],
    second: Annotated[list[Number], Field(description="The other vector, as long", min_length=1, max_length=10_000)],
    metric: Annotated[Literal["euclidean", "manhattan", "cosine"], Field(description="Which distance")] = "euclidean",
) -> float:
    """Compute the Euclidean, Manhattan or cosine distance between two vectors or points."""
    _paired(first, second)
    gaps = [abs(a - b) for a, b in zip(first, second, strict=True)]
    if metric != "cosine":
        return sum(gaps) if metric == "manhattan" else sqrt(sum(gap * gap for gap in gaps))
    lengths = sqrt(sum(a * a for a in first)) * sqrt(sum(b * b for b in second))
    if lengths == 0:
        raise ToolError("the cosine of a zero vector is not defined")
    return 1 - sum(a * b for a, b in zip(first, second, strict=True)) / lengths


@server.tool(title="Random sample", annotations=READS)
def draw_sample(
    numbers: Numbers,
    size: Annotated[int, Field(description="How many to draw", ge=1)],
    replace: Annotated[bool, Field(description="Whether a number may be drawn twice")] = False,
    seed: Seed = 1,
) -> list[float]:
    """Draw numbers at random from a list, with or without replacement, repeatably."""
    import random

    rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
    if replace:
        return rng.choices(numbers, k=min(size, 100_000))
    if size > len(numbers):
        raise ToolError(f"{size} numbers cannot be drawn from {len(numbers)} without replacement")
    return rng.sample(numbers, size)


def _paired(x: list[float], y: list[float]) -> None:
    """Raises ToolError for lists of different lengths."""
    if len(x) != len(y):
        raise ToolError(f"the lists have different lengths, {len(x)} and {len(y)}")


def _varied(*lists: list[float]) -> None:
    """Raises ToolError for a list of equal numbers."""
    if any(len(set(values)) == 1 for values in lists):
        raise ToolError("all numbers of a list are equal: there is nothing to relate")


def _ranks(values: list[float]) -> list[float]:
    """Returns places in ascending order; equal numbers share the mean of their places."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


if __name__ == "__main__":
    serve(server)
