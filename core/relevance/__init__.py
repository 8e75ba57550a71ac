"""The fit of each tool of a catalog to a query: encoder, signals, their fusion, and the probability of fit. `model.toml` has the constants."""
