"""Hashes, signatures, encodings, identifiers and passwords."""

import base64
import binascii
import hashlib
import hmac
import io
import math
import secrets
import string
import uuid
import wave
import zlib
from array import array
from typing import Annotated, Literal
from urllib.parse import quote, unquote

from mcp.server.mcpserver import Audio, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

MORSE_TABLE = (
    "a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- u..- v...- "
    "w.-- x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. "
    "..-.-.- ,--..-- ?..--.. --....- /-..-. @.--.-."
)
MORSE = {entry[0]: entry[1:] for entry in MORSE_TABLE.split()}
COMMON = {"password", "123456", "12345678", "qwerty", "abc123", "letmein", "welcome", "admin", "iloveyou", "secret"}
SAMPLE_RATE = 8_000

Text = Annotated[str, Field(description="Text, taken as UTF-8", max_length=500_000)]
Algorithm = Annotated[
    Literal["sha256", "sha512", "sha1", "md5", "blake2b", "sha3_256"], Field(description="Hash function")
]
Key = Annotated[str, Field(description="Secret key", min_length=1, max_length=1_000)]
Message = Annotated[str, Field(description="Letters, digits and simple punctuation", min_length=1, max_length=100)]

server = MCPServer(
    "Sealwax",
    title="Sealwax",
    description="Seals and ciphers' little helpers: digests, HMAC, Base64, checksums, UUIDs, passwords, Morse.",
    instructions="Nothing is stored or sent anywhere. md5 and sha1 are for checksums, not for security.",
    version="0.9.4",
    log_level="WARNING",
)


class Strength(BaseModel):
    """A judgement of a password."""

    bits: float = Field(description="Estimated entropy in bits if it was chosen at random")
    verdict: Literal["weak", "fair", "strong"]
    advice: list[str]


@server.tool(title="Hash a text", annotations=READS)
def hash_text(text: Text, algorithm: Algorithm = "sha256") -> str:
    """Compute the digest of a text with SHA-256 or another hash function, as hexadecimal digits."""
    return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


@server.tool(title="Sign with HMAC", annotations=READS)
def hmac_sign(
    text: Text,
    key: Key,
    algorithm: Annotated[Literal["sha256", "sha512"], Field(description="Hash function")] = "sha256",
) -> str:
    """Sign a message with a secret key (HMAC), as hexadecimal digits."""
    return hmac.new(key.encode(), text.encode(), algorithm).hexdigest()


@server.tool(title="Verify an HMAC", annotations=READS)
def hmac_verify(
    text: Text,
    key: Key,
    signature: Annotated[str, Field(description="Signature to check, hexadecimal")],
    algorithm: Annotated[Literal["sha256", "sha512"], Field(description="Hash function")] = "sha256",
) -> bool:
    """Check whether an HMAC signature belongs to a message and a key."""
    expected = hmac.new(key.encode(), text.encode(), algorithm).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.strip().lower().encode())


@server.tool(title="CRC-32", annotations=READS)
def crc32(text: Text) -> str:
    """crc"""
    return f"{zlib.crc32(text.encode()):08x}"


@server.tool(title="Encode", annotations=READS)
def encode(
    text: Text,
    encoding: Annotated[Literal["base64", "base64url", "base32", "hex", "url"], Field(description="Target encoding")],
) -> str:
    """Encode text as Base64, URL-safe Base64, Base32, hexadecimal or percent-encoded URL text."""
    data = text.encode()
    if encoding == "url":
        return quote(text, safe="")
    coders = {"base64": base64.b64encode, "base64url": base64.urlsafe_b64encode, "base32": base64.b32encode}
    return data.hex() if encoding == "hex" else coders[encoding](data).decode()


@server.tool(title="Decode", annotations=READS)
def decode(
    text: Annotated[str, Field(description="Encoded text", max_length=700_000)],
    encoding: Annotated[Literal["base64", "base64url", "base32", "hex", "url"], Field(description="Encoding it has")],
) -> str:
    """Decode Base64, URL-safe Base64, Base32, hexadecimal or percent-encoded text."""
    compact = "".join(text.split())
    try:
        match encoding:
            case "url":
                return unquote(text, errors="strict")
            case "hex":
                return bytes.fromhex(compact).decode()
            case "base32":
                return base64.b32decode(compact, casefold=True).decode()
            case _:
                standard = compact.translate(str.maketrans("-_", "+/")) if encoding == "base64url" else compact
                return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True).decode()
    except UnicodeDecodeError as error:
        raise ToolError("the decoded bytes are not UTF-8 text") from error
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"this is not valid {encoding}: {error}") from error


@server.tool(title="New identifiers", annotations=READS)
def new_uuid(
    count: Annotated[int, Field(description="How many", ge=1, le=100)] = 1,
    name: Annotated[
        str, Field(description="Derive it from this name (version 5) instead of chance", max_length=500)
    ] = "",
) -> list[str]:
    """Generate random UUIDs, or the one UUID that belongs to a name."""
    if name:
        return [str(uuid.uuid5(uuid.NAMESPACE_URL, name))]
    return [str(uuid.uuid4()) for _ in range(count)]


@server.tool(title="Password strength", annotations=READS)
def password_strength(
    password: Annotated[str, Field(description="Password to judge", min_length=1, max_length=200)],
) -> Strength:
    """Judge how hard a password is to guess and say what would make it better."""
    groups = [
        (26, any(c in string.ascii_lowercase for c in password), "add small letters"),
        (26, any(c in string.ascii_uppercase for c in password), "add capital letters"),
        (10, any(c in string.digits for c in password), "add digits"),
        (33, any(c not in string.ascii_letters + string.digits for c in password), "add other characters"),
    ]
    alphabet = sum(size for size, present, _ in groups if present)
    known = password.casefold().strip(string.digits + "!") in COMMON or password.casefold() in COMMON
    effective = 1 if known else min(len(password), 2 * len(set(password)))
    bits = effective * math.log2(alphabet)
    advice = [hint for _, present, hint in groups if not present] if bits < 80 else []
    advice += ["make it longer"] * (bits < 80) + ["it is on every list of common passwords"] * known
    return Strength(
        bits=round(bits, 1), verdict="weak" if bits < 45 else "fair" if bits < 80 else "strong", advice=advice
    )


@server.tool(title="Make a password", annotations=READS)
def make_password(
    length: Annotated[int, Field(description="Number of characters", ge=8, le=128)] = 20,
    symbols: Annotated[bool, Field(description="Use !#$%&*+-=?@ too")] = True,
) -> str:
    """Generate a random password with small and capital letters, digits and optionally symbols."""
    sets = [string.ascii_lowercase, string.ascii_uppercase, string.digits] + ["!#$%&*+-=?@"] * symbols
    picked = [secrets.choice(chars) for chars in sets]
    picked += [secrets.choice("".join(sets)) for _ in range(length - len(sets))]
    secrets.SystemRandom().shuffle(picked)
    return "".join(picked)


def _morse(message: str) -> str:
    unknown = sorted({c for c in message.lower() if not c.isspace() and c not in MORSE})
    if unknown:
        raise ToolError(f"no Morse code for {' '.join(unknown)}")
    return " / ".join(" ".join(MORSE[c] for c in word) for word in message.lower().split())


@server.tool(title="Morse code", annotations=READS)
def morse_code(message: Message) -> str:
    """Write a short message in Morse code, words parted by a slash."""
    return _morse(message)


@server.tool(title="Morse code as sound", annotations=READS)
def morse_audio(
    message: Message,
    words_per_minute: Annotated[int, Field(description="Speed", ge=5, le=40)] = 20,
    pitch_hz: Annotated[int, Field(description="Pitch of the tone", ge=200, le=2000)] = 600,
) -> Audio:
    """Play a short message in Morse code: a WAV tone to listen to."""
    unit = round(SAMPLE_RATE * 1.2 / words_per_minute)
    swing = [int(12_000 * math.sin(2 * math.pi * pitch_hz * i / SAMPLE_RATE)) for i in range(3 * unit)]
    pieces = {".": swing[:unit] + [0] * unit, "-": swing + [0] * unit, " ": [0] * 2 * unit, "/": [0] * 2 * unit}
    samples = array("h", [value for mark in _morse(message) for value in pieces[mark]])
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SAMPLE_RATE)
        sound.writeframes(samples.tobytes())
    return Audio(data=buffer.getvalue(), format="wav")


if __name__ == "__main__":
    serve(server)
