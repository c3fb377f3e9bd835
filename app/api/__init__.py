"""The JSON doors: agents, operators, webhook senders; bearer tokens, no cookies."""

from __future__ import annotations
