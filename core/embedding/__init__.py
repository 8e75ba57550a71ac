"""Text to unit vectors: the encoder, its export for onnxruntime, the cache of vectors, and those that come with Wayfare.

`onnx.py` is the encoder in daily use and `cached.py` what others call; `export.py`, `prepared.py` and `difference.py` make the
export, `packaged_vectors.py` reads the vectors that `make catalog` wrote. The room imports `core.store.arrow` and `core.shared`.
Another encoder is a class with `encode` and `tokens` (`base.Encoder`) and an `EncoderSource` that opens it.
"""
