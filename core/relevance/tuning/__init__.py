"""Tuning the encoder to tool retrieval, for `wayfare train-encoder`: `core.relevance.onnx_encoder` reads the file that it writes."""
