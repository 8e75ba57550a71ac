"""Scores of a catalog's texts for a query: views of the texts, cosines, BM25, exact top-k by utility (FAISS), and the map.

Imports `core.embedding`, `core.domain` and `core.shared`. A new view of a tool or server is a function and a line in `text_views.py`.
"""
