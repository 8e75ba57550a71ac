"""What servers list, by the protocol's methods."""

from __future__ import annotations

TOOLS, RESOURCES, TEMPLATES, PROMPTS = "tools/list", "resources/list", "resources/templates/list", "prompts/list"
ITEMS = {TOOLS: "tools", RESOURCES: "resources", TEMPLATES: "resource_templates", PROMPTS: "prompts"}
"""The methods that list something, and the field of their results that has it."""
