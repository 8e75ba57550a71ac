"""Tools that write the sample's files: `build` writes catalogs and vectors, `check` checks the labelled tasks.

This package may import `core`. The rest of `sample_catalog` is data and servers that import nothing of Wayfare.
"""
