"""What a person meets in a browser, with and without a mouse, a screen or JavaScript."""

from __future__ import annotations
