"""Security headers of every answer."""

from __future__ import annotations

from collections.abc import Mapping

SAFE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
        " img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""For every answer: one script of our own, which makes no text to code; no frame, no other host, no
guessing of types.
"""

NOT_KEPT = ("Cache-Control", "no-store")
"""Default for every answer: no cache, as the status changes with every run."""
