"""Tuning the encoder to tool retrieval: the training texts, the training, and the gain of the result.

`wayfare train-encoder` uses this room. Its result is a file that `core.relevance.onnx_encoder` reads; the rest of Wayfare sees only
that. Another kind of training text is a generator in `pairs.py`, another option a field of `TuningSettings` there, another shipped
catalog a line in `judging.py`.
"""
