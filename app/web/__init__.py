"""Pages: a session, a form token, HTML."""

from __future__ import annotations
