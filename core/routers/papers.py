"""The papers that routers are made after, by title, as the router's `paper` names them."""

EHRR = "Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
ETOM = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
NETMCP = "NetMCP: Network-Aware Model Context Protocol Platform for LLM Capability Extension"
PA_RAG = "PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
TOOL_ATTENTION = "Tool Attention Is All You Need"
