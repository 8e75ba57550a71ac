"""Wayfare without its pages."""

import os

# many small products, each at once: a second thread of OpenBLAS waits by spinning, takes a core from the encoder, and makes the
# product of one query and 2,000 rows last 6 ms instead of .4; read when numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
