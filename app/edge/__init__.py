"""The porch: what the two HTTP doors share."""

from __future__ import annotations
