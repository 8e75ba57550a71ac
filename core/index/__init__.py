"""Vectors and texts to scores: views of a catalog, BM25, exact top-k by utility."""
