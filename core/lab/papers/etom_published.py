"""ETOM's Tables 3 and 6 as printed."""

from __future__ import annotations

from collections.abc import Mapping

BACKBONE = "Qwen3-4B-Instruct-2507"  # the only model that all four orchestrators were run with

# Table 3: exact match (L1, L2, L5) and F1 (L3, L4) in percent, then latency over that of MCP-Zero with Llama 3, level by level
PUBLISHED: Mapping[tuple[str, str], tuple[tuple[float, ...], tuple[float | None, ...]]] = {
    ("mcp_zero", "Qwen3-4B-Instruct-2507"): ((69.01, 43.02, 46.85, 30.42, 74.72), (0.89, 0.59, 5.64, 6.5, 0.22)),
    ("mcp_zero", "Qwen3-8B"): ((65.68, 31.56, 48.16, 33.95, 62.63), (3.14, 3.6, 3.87, 3.73, 3.86)),
    ("mcp_zero", "Minstral-8B-Instruct-2410"): ((46.99, 23.67, 39.65, 25.99, 51.6), (1.29, 1.24, 1.43, 1.71, 0.7)),
    ("mcp_zero", "GPT-4.1"): ((63.38, 31.82, 53.12, 34.2, 80.29), (None, None, None, None, None)),
    ("mcp_zero", "Gemma-3-12B-IT"): ((70.55, 33.5, 49.7, 32.43, 65.93), (1.73, 1.56, 1.71, 1.99, 0.75)),
    ("mcp_zero", "Microsoft Phi-4"): ((38.79, 19.01, 53.97, 33.98, 69.23), (3.54, 3.37, 3.31, 3.42, 2.58)),
    ("mcp_zero", "Meta-Llama-3-8B-Instruct"): ((48.08, 19.25, 38.04, 25.7, 39.56), (1.0, 1.0, 1.0, 1.0, 1.0)),
    ("toolshed", "Qwen3-4B-Instruct-2507"): ((72.72, 51.87, 69.41, 37.45, 70.32), (3.31, 3.58, 5.38, 5.26, 2.22)),
    ("toolshed", "Qwen3-8B"): ((80.65, 53.29, 77.45, 44.96, 76.92), (11.63, 11.33, 15.74, 15.31, 11.25)),
    ("toolshed", "Minstral-8B-Instruct-2410"): ((64.66, 43.46, 82.36, 50.98, 45.05), (7.86, 8.24, 10.15, 8.68, 4.7)),
    ("toolshed", "GPT-4.1"): ((69.91, 49.02, 82.55, 55.06, 81.31), (None, None, None, None, None)),
    ("toolshed", "Gemma-3-12B-IT"): ((80.66, 56.79, 73.96, 47.29, 60.43), (7.89, 7.87, 11.8, 12.19, 6.07)),
    ("toolshed", "Microsoft Phi-4"): ((38.66, 28.71, 81.85, 49.67, 67.03), (15.12, 14.54, 14.52, 14.81, 11.93)),
    ("toolshed", "Meta-Llama-3-8B-Instruct"): ((57.03, 42.12, 74.34, 50.77, 27.4), (5.22, 6.02, 5.22, 5.68, 6.65)),
    ("react", "Qwen3-4B-Instruct-2507"): ((41.43, 19.76, 33.61, 6.74, 72.5), (8.8, 8.65, 6.75, 10.54, 12.18)),
    ("hybrid", "Qwen3-4B-Instruct-2507"): ((68.62, 60.2, 56.91, 26.78, 74.72), (3.61, 3.68, 3.63, 2.37, 1.58)),
    ("hybrid", "Meta-Llama-3-8B-Instruct"): ((48.08, 39.79, 50.89, 21.61, 14.28), (4.74, 4.39, 6.07, 5.48, 4.94)),
}  # fmt: skip

# Table 6, ToolShed with Llama 3 8B: (k, query expansions, reranked) and L1, L2, L3 exact match, L4 F1, L5 exact match in percent
ABLATION: Mapping[tuple[int, int, int], tuple[float, ...]] = {
    (5, 3, 10): (57.03, 42.12, 46.17, 50.77, 14.56),
    (5, 0, 10): (57.03, 41.60, 50.76, 47.11, 11.65),
    (1, 0, 10): (45.78, 36.56, 36.08, 37.91, 4.85),
    (5, 3, 1): (54.09, 42.50, 44.95, 46.78, 10.67),
    (10, 3, 10): (56.64, 40.69, 47.40, 50.95, 13.59),
    (15, 3, 10): (55.88, 43.15, 48.31, 49.55, 14.56),
    (20, 3, 10): (57.80, 35.91, 50.15, 52.11, 10.67),
    (25, 3, 10): (56.01, 33.72, 47.70, 45.54, 12.62),
}
