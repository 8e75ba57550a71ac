"""Tuning the encoder to tool retrieval: what it is trained on, the training itself, and what the result gains.

Owns the training behind `wayfare train-encoder`; its result is a file of `core.relevance.encoder_model`, which is all that the
rest of Wayfare sees of it. May import index, embedding, importers, domain and shared. Another kind of training text is a
generator in `pairs.py`, another shipped catalog one line in `sources.py`, another training option a field of `settings.py`.
"""
