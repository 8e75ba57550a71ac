"""The tools of the endpoint, in the order in which every client sees them, and what it is told of them."""

from __future__ import annotations

from core.endpoint.base import AgentTool
from core.endpoint.describe import DESCRIBE
from core.endpoint.execute import EXECUTE, EXECUTE_READONLY
from core.endpoint.read_result import READ_RESULT
from core.endpoint.report import REPORT
from core.endpoint.search import SEARCH

TOOLS: tuple[AgentTool, ...] = (SEARCH, DESCRIBE, EXECUTE, EXECUTE_READONLY, READ_RESULT, REPORT)
DEFINITIONS = [tool.definition for tool in TOOLS]
INSTRUCTIONS = (
    "Wayfare stands for all MCP servers that its operator has connected. For each step of your work call search_tools with "
    "that step in one sentence; call the best candidate with execute_tool, or execute_readonly_tool where it only reads, and "
    "give the route_id of the search; afterwards say with report_outcome whether it helped. An error says what to try."
)
