"""How well each tool of a catalog fits a query: encoder, signals, their fusion, and the probability of fit. `model.toml` has the constants."""
