"""Tool Attention around its router: summaries, the schema loader, the gate after the model, and its events."""
