"""How well each tool of a catalog fits a query: signals, their fusion, and the probability of fit.

Owns the signals, the weights and the calibration constants (`model.toml`). May import index, embedding, domain and shared.
A new signal is a function in `signals.py`, one line in its table and a weight in `model.toml`.
"""
