"""A running site, a browser to look at it, and what to look for."""

from __future__ import annotations
