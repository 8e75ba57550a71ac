"""The only import of pyarrow, which has no type hints: here its modules and classes become `Any`, so that nothing is unknown."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow  # pyright: ignore[reportMissingTypeStubs]
from pyarrow import compute, csv, parquet  # pyright: ignore[reportMissingTypeStubs]

Table: TypeAlias = Any
Array: TypeAlias = Any
Schema: TypeAlias = Any

pa: Any = pyarrow
pa_compute: Any = compute
pa_csv: Any = csv
pa_parquet: Any = parquet
