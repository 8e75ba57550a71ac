"""Ask a router, and ask what would change its decision: strips, counterfactuals, curves and the auction."""
