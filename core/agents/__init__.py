"""An agent that splits a wish into steps, routes each step and calls the tools; the tool list of Tool Attention for agents."""
