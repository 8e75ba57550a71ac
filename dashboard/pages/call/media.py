"""Pictures and sound from strangers, checked before the browser gets them. Pure."""

from __future__ import annotations

import io
import re
import warnings

from PIL import Image

MOST_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_AUDIO = re.compile(r"audio/[A-Za-z0-9.+-]{1,40}")


def picture_problem(data: bytes) -> str:
    """Why these bytes are not shown as a picture; "" where they can be.

    >>> picture_problem(b"")
    'it has no bytes.'
    >>> picture_problem(b"no picture")
    'its bytes are not a PNG, JPEG, GIF, WEBP, BMP picture.'
    """
    if not data:
        return "it has no bytes."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about size: that is looked at here
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    return f"{width:,} × {height:,} pixels are too many to show safely."
                picture.load()
    except Image.DecompressionBombError:
        return "it has too many pixels to show safely."
    except Image.UnidentifiedImageError:
        return f"its bytes are not a {', '.join(FORMATS)} picture."
    except Exception:  # noqa: BLE001 - a decoder can fail in any way on broken bytes
        return "its bytes are broken."
    return ""


def audio_mime(declared: str) -> str:
    """The declared type of a sound where it is one, else WAV.

    >>> audio_mime("audio/mpeg"), audio_mime("text/html")
    ('audio/mpeg', 'audio/wav')
    """
    return declared if _AUDIO.fullmatch(declared) else "audio/wav"
