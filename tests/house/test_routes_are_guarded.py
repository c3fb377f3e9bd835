"""Every route stands behind the guard of its surface, or is open for a reason that is written."""

from __future__ import annotations

import pytest
from flask import Blueprint, Flask

from app import create_app
from app.edge.deps import EdgeConfig

# blueprint: what must run before each of its views
GUARDS: dict[str, set[str]] = {
    "agent": {"identify_endpoint"},
    "stream": {"identify_endpoint"},
    "metrics": {"identify_scraper"},
    "operator": {"identify_operator"},
    "board": {"identify_session", "check_form"},
    "settings": {"identify_session", "check_form"},
    "endpoints": {"identify_session", "check_form"},
    "endpoint_presence": {"identify_session", "check_form"},
    "endpoint_hooks": {"identify_session", "check_form"},
    "endpoint_teams": {"identify_session", "check_form"},
    "vend": {"identify_session", "check_form"},
    "webhooks": {"identify_session", "check_form"},
    "teams": {"identify_session", "check_form"},
    "team_ends": {"identify_session", "check_form"},
    "team_members": {"identify_session", "check_form"},
    "team_invites": {"identify_session", "check_form"},
    "team_groups": {"identify_session", "check_form"},
    "team_queues": {"identify_session", "check_form"},
    "invites": {"identify_session", "check_form"},
    "todos": {"identify_session", "check_form"},
    "todo_actions": {"identify_session", "check_form"},
    "add_todo": {"identify_session", "check_form"},
    "queues": {"identify_session", "check_form"},
    "budgets": {"identify_session", "check_form"},
    "live": {"identify_session", "check_form"},
    "consent": {"identify_session", "check_form"},
    "apps": {"identify_session", "check_form"},
}

# endpoint: why it answers a caller who shows nothing
OPEN: dict[str, str] = {
    "static": "style, script and vendored files are the same for everyone",
    "health.healthz": "probes carry no credentials; it says only that the process lives",
    "health.readyz": "probes carry no credentials; it names no version and no host",
    "ingest.receive": "the ingest URL is the capability, and signed types check the signature",
    "account.show_login": "says in words how to get in",
    "account.show_link": "changes nothing; the token in the address is checked by the POST",
    "account.use_link": "the one-time token is the credential; a foreign Origin is refused",
    "account.use_dev_login": "404 unless the dev login is switched on, which warns in the log",
    "oauth.register": "an app may write itself down; it opens nothing until a human consents",
    "oauth.issue": "the code with its verifier, or the refresh token, is the credential",
    "oauth.revoke": "the token is the credential, and all it does here is end",
    "oauth_metadata.show_server": "discovery is for everyone; it names addresses only",
    "oauth_metadata.show_resource": "any slug has its metadata, whether it exists or not",
    "oidc.depart": "begins a sign-in; the provider asks who it is",
    "oidc.arrive": "the provider's answer is the credential, and the sealed cookie its receipt",
    "help.index": "help is for everyone, also for someone who cannot sign in",
    "help.topic": "help is for everyone; it shows nothing of anybody's",
    "account.sign_out": "checks the session's form token itself; without a session nothing ends",
}


def faults(app: Flask) -> list[str]:
    """Routes without guard and reason, and reasons for routes that are gone or guarded."""
    found, seen = [], set()
    for rule in app.url_map.iter_rules():
        seen.add(rule.endpoint)
        blueprint = rule.endpoint.rpartition(".")[0]
        before = {view.__name__ for view in app.before_request_funcs.get(blueprint, [])}
        if blueprint in GUARDS:
            missing = GUARDS[blueprint] - before
            found += [f"{rule.rule}: {name} does not run before it" for name in sorted(missing)]
        elif rule.endpoint not in OPEN:
            found.append(f"{rule.rule} ({rule.endpoint}): no guard, and no reason to be open")
    return found + [f"{name}: a reason for a route that is gone" for name in OPEN.keys() - seen]


def _app() -> Flask:
    return create_app(EdgeConfig(base_url="http://localhost"), None, None)


def test_every_route_is_guarded_or_open_for_a_reason() -> None:
    assert faults(_app()) == []


def test_a_path_is_never_rewritten_into_another() -> None:
    app = _app()
    assert not app.url_map.merge_slashes


@pytest.mark.parametrize("name", ["stray", "operator2"])
def test_a_new_blueprint_without_a_guard_is_found(name: str) -> None:
    app, stray = _app(), Blueprint(name, __name__)
    stray.add_url_rule("/stray", "look", view_func=lambda: "")
    app.register_blueprint(stray)
    assert any("/stray" in fault for fault in faults(app))


def test_a_route_straight_on_the_app_is_found() -> None:
    app = _app()
    app.add_url_rule("/stray", "stray", view_func=lambda: "")
    assert any("/stray" in fault for fault in faults(app))


@pytest.mark.parametrize("blueprint", sorted(GUARDS))
def test_a_guard_that_was_taken_away_is_found(blueprint: str) -> None:
    app = _app()
    app.before_request_funcs[blueprint] = []
    assert any("does not run before it" in fault for fault in faults(app))
