"""QR codes as picture, vector graphic or text."""

from io import BytesIO, StringIO
from typing import Annotated, Literal

import segno
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import EmbeddedResource, TextContent, TextResourceContents
from pydantic import Field
from segno import helpers

from sample_catalog.runnable._common import READS, serve

Content = Annotated[str, Field(description="What the code holds: text or an address", min_length=1, max_length=2_900)]
Correction = Annotated[
    Literal["low", "medium", "quartile", "high"],
    Field(description="How much damage the code survives: 7, 15, 25 or 30 %"),
]
Scale = Annotated[int, Field(description="Pixels per module", ge=1, le=40)]
Margin = Annotated[int, Field(description="Width of the quiet border in modules", ge=0, le=20)]
Colour = Annotated[str, Field(description="Colour as #rrggbb", pattern=r"^#[0-9a-fA-F]{6}$")]

server = MCPServer(
    "qr-press",
    title="QR press",
    description="Makes QR codes for text, links, Wi-Fi access and contacts: PNG, SVG or characters for a terminal.",
    instructions="Codes are made here; reading them is not offered.",
    version="1.0.0",
    log_level="WARNING",
)


def _code(content: str, correction: str = "medium") -> segno.QRCode:
    try:
        return segno.make_qr(content, error=correction[0])
    except segno.DataOverflowError as error:
        raise ToolError("that is too much for one QR code; shorten it or use less error correction") from error


def _png(code: segno.QRCode, scale: int = 8, margin: int = 4, dark: str = "#000000") -> list[Image | TextContent]:
    buffer = BytesIO()
    code.save(buffer, kind="png", scale=scale, border=margin, dark=dark, light="#ffffff")
    says = f"QR code version {code.version}, error correction {code.error}"
    return [Image(data=buffer.getvalue(), format="png"), TextContent(text=says)]


@server.tool(title="QR code as PNG", annotations=READS)
def qr_png(
    content: Content, correction: Correction = "medium", scale: Scale = 8, margin: Margin = 4, dark: Colour = "#000000"
) -> list[Image | TextContent]:
    """Make a QR code for a text or link as a PNG picture."""
    return _png(_code(content, correction), scale, margin, dark)


@server.tool(title="QR code as SVG", annotations=READS)
def qr_svg(content: Content, correction: Correction = "medium", scale: Scale = 8) -> EmbeddedResource:
    """Make a QR code as a scalable SVG graphic for print."""
    buffer = BytesIO()
    _code(content, correction).save(buffer, kind="svg", scale=scale)
    svg = TextResourceContents(uri="qr://code.svg", mime_type="image/svg+xml", text=buffer.getvalue().decode())
    return EmbeddedResource(resource=svg)


@server.tool(title="QR code as text", annotations=READS)
def qr_text(content: Content, correction: Correction = "low") -> str:
    """Print a QR code with block characters, for a terminal or chat."""
    buffer = StringIO()
    _code(content, correction).save(buffer, kind="txt", border=2)
    return buffer.getvalue().replace("1", "\u2588\u2588").replace("0", "  ")


@server.tool(title="QR code for Wi-Fi", annotations=READS)
def qr_wifi(
    network: Annotated[str, Field(description="Name of the network (SSID)", min_length=1, max_length=32)],
    password: Annotated[str, Field(description="Password; empty for an open network", max_length=63)] = "",
    hidden: Annotated[bool, Field(description="Whether the network hides its name")] = False,
) -> list[Image | TextContent]:
    """Make a QR code that lets a phone join a Wi-Fi network."""
    security = "WPA" if password else None
    return _png(helpers.make_wifi(network, password or None, security, hidden=hidden))


@server.tool(title="QR code for a contact", annotations=READS)
def qr_contact(
    name: Annotated[str, Field(description="Full name", min_length=1, max_length=80)],
    phone: Annotated[str, Field(description="Telephone number", max_length=40)] = "",
    email: Annotated[str, Field(description="E-mail address", max_length=120)] = "",
    website: Annotated[str, Field(description="Address of a web page", max_length=200)] = "",
) -> list[Image | TextContent]:
    """Contact code."""
    return _png(helpers.make_mecard(name, phone=phone or None, email=email or None, url=website or None))


if __name__ == "__main__":
    serve(server)
