"""Settings: what is accepted, and that every refusal names its variable."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path

import pytest

from app import parts, settings
from app.settings import Oidc, Settings, SettingsError

KEY = bytes(range(32))


def parsed(**environment: str) -> Settings:
    """Settings from variables given without their prefix."""
    return Settings.from_environment(
        {"HOME": "/home/nobody", **{f"SWITCHBOARD_{k}": v for k, v in environment.items()}}
    )


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    found = parsed()

    assert (found.host, found.port) == ("127.0.0.1", 8080)
    assert found.base_url == "http://127.0.0.1:8080"
    assert found.agent_rate == (200, 400)
    assert (found.retention_events_per_owner, found.retention_todos_per_owner) == (50_000, 50_000)
    assert found.database_url is None
    assert found.database_direct_url is None
    assert found.secret_key is None
    assert found.trusted_proxies == ()
    assert not found.dev_login
    assert not found.attempt_summary_from_result
    assert found.is_loopback
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("name", "text", "field", "expected"),
    [
        ("ADDR", "0.0.0.0:9000", "port", 9000),
        ("ADDR", ":9000", "host", "0.0.0.0"),
        ("ADDR", "[::1]:9000", "host", "::1"),
        ("BASE_URL", "https://board.example.org/", "base_url", "https://board.example.org"),
        ("DATABASE_URL", "postgresql://u@h/d", "database_url", "postgresql://u@h/d"),
        ("DATA_DIR", "/srv/sb", "data_dir", Path("/srv/sb")),
        ("PG_BIN", "/opt/pg/bin", "pg_bin", "/opt/pg/bin"),
        ("PG_USER", "daemon", "pg_user", "daemon"),
        ("TRUSTED_PROXIES", "10.0.0.0/8, ::1", "trusted_proxies", ("10.0.0.0/8", "::1")),
        ("AGENT_RATE", "5/10", "agent_rate", (5, 10)),
        ("DEV_LOGIN", "1", "dev_login", True),
        ("DEV_LOGIN", "0", "dev_login", False),
        ("SECRET_ENCRYPTION_KEY", KEY.hex(), "secret_key", KEY),
        ("SECRET_ENCRYPTION_KEY", base64.b64encode(KEY).decode(), "secret_key", KEY),
        ("SECRET_ENCRYPTION_KEY", base64.urlsafe_b64encode(b"\xff" * 32).decode().rstrip("="),
         "secret_key", b"\xff" * 32),
        ("ATTEMPT_SUMMARY_FROM_RESULT", "on", "attempt_summary_from_result", True),
        ("RETENTION_EVENTS_PER_OWNER", "7", "retention_events_per_owner", 7),
        ("RETENTION_TODOS_PER_OWNER", "2000000", "retention_todos_per_owner", 2_000_000),
        ("METRICS_TOKEN", "x" * 32, "metrics_token", "x" * 32),
        ("METRICS_TOKEN", "é" * 16, "metrics_token", "é" * 16),
        ("METRICS_TOKEN", "", "metrics_token", None),
        ("MAX_TEAMS_PER_HUMAN", "3", "max_teams_per_human", 3),
        ("NOTIFY_HOOK_MAX", "7", "notify_hook_max", 7),
        ("NOTIFY_HOOK_MAX", "0", "notify_hook_max", 0),
        ("NOTIFY_HOOK_ALLOW_CIDRS", "10.0.0.0/8, fd00::/8", "notify_hook_allow_cidrs",
         ("10.0.0.0/8", "fd00::/8")),
        ("PUSH_ALLOW_HTTP", "on", "push_allow_http", True),
        ("URL", "http://127.0.0.1:9", "url", "http://127.0.0.1:9"),
        ("CREDENTIALS", "/run/cred", "credentials", Path("/run/cred")),
        ("ENDPOINT_TOKEN", "sbk_x", "endpoint_token", "sbk_x"),
        ("AGENT_RATE", "", "agent_rate", (200, 400)),
    ],
)  # fmt: skip
def test_a_variable_sets_its_field(name: str, text: str, field: str, expected: object) -> None:
    assert getattr(parsed(**{name: text}), field) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ADDR", "8080"),
        ("ADDR", "127.0.0.1:0"),
        ("ADDR", "127.0.0.1:65536"),
        ("ADDR", "127.0.0.1:eighty"),
        ("ADDR", "::1:8080"),
        ("ADDR", "[nowhere]:80"),
        ("BASE_URL", "board.example.org"),
        ("BASE_URL", "http://127.0.0.1:65536"),
        ("BASE_URL", "http://127.0.0.1:0"),
        ("BASE_URL", "ftp://board.example.org"),
        ("BASE_URL", "https://board.example.org/path"),
        ("BASE_URL", "https://user:word@board.example.org"),
        ("DATABASE_URL", "not a url"),
        ("TRUSTED_PROXIES", "10.0.0.0/8,proxy.local"),
        ("AGENT_RATE", "200"),
        ("AGENT_RATE", "0/1"),
        ("AGENT_RATE", "fast/faster"),
        ("DEV_LOGIN", "yes please"),
        ("SECRET_ENCRYPTION_KEY", "deadbeef"),
        ("SECRET_ENCRYPTION_KEY", base64.b64encode(b"x" * 31).decode()),
        ("ATTEMPT_SUMMARY_FROM_RESULT", "2"),
        ("RETENTION_EVENTS_PER_OWNER", "0"),
        ("RETENTION_TODOS_PER_OWNER", "1e6"),
        ("RETENTION_TODOS_PER_OWNER", "-1"),
        ("METRICS_TOKEN", "x" * 31),
        ("METRICS_TOKEN", "x" * 40 + " y"),
        ("METRICS_TOKEN", "x" * 40 + "\n"),
        ("METRICS_TOKEN", "x" * 40 + "\udcff"),
        ("NOTIFY_HOOK_MAX", "-1"),
        ("NOTIFY_HOOK_MAX", "five"),
        ("NOTIFY_HOOK_MAX", "1.5"),
        ("NOTIFY_HOOK_ALLOW_CIDRS", "10.0.0.0/33"),
        ("NOTIFY_HOOK_ALLOW_CIDRS", "internal"),
        ("PUSH_ALLOW_HTTP", "maybe"),
        ("URL", "localhost"),
    ],
)
def test_a_malformed_value_is_refused_by_the_name_of_its_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parsed(**{name: text})

    assert str(refused.value).startswith(f"SWITCHBOARD_{name} ")
    assert str(refused.value).endswith(".")
    if name in ("SECRET_ENCRYPTION_KEY", "METRICS_TOKEN"):
        assert text not in str(refused.value)


def test_a_direct_url_goes_with_a_database_url() -> None:
    with pytest.raises(SettingsError, match="SWITCHBOARD_DATABASE_DIRECT_URL"):
        parsed(DATABASE_DIRECT_URL="postgresql://h/d")

    both = parsed(DATABASE_URL="postgresql://pool/d", DATABASE_DIRECT_URL="postgresql://h/d")

    assert both.database_direct_url == "postgresql://h/d"


def test_the_base_url_follows_the_listen_address_unless_it_is_set() -> None:
    assert parsed(ADDR="127.0.0.1:9000").base_url == "http://127.0.0.1:9000"
    assert parsed(ADDR="0.0.0.0:9000").base_url == "http://127.0.0.1:9000"
    assert parsed(ADDR="[::1]:9000").base_url == "http://[::1]:9000"
    assert parsed(ADDR=":1", BASE_URL="https://b.org").base_url == "https://b.org"


def test_only_loopback_addresses_count_as_loopback() -> None:
    assert parsed(ADDR="localhost:80").is_loopback
    assert parsed(ADDR="127.9.9.9:80").is_loopback
    assert not parsed(ADDR="0.0.0.0:80").is_loopback
    assert not parsed(ADDR="board.example.org:80").is_loopback


def test_names_nobody_reads_are_reported() -> None:
    found = parsed(DEV_LOGON="1", ADDR="127.0.0.1:1")

    assert found.unknown == ("SWITCHBOARD_DEV_LOGON",)


def test_what_is_said_of_hooks_reaches_those_who_judge() -> None:
    rules = parts.hook_rules(parsed(NOTIFY_HOOK_MAX="2", PUSH_ALLOW_HTTP="1",
                                    NOTIFY_HOOK_ALLOW_CIDRS="10.1.0.0/8", ADDR="0.0.0.0:9000"))

    assert (rules.most, rules.allows_http, rules.addresses.own_port) == (2, True, 9000)
    assert [str(network) for network in rules.addresses.allowed] == ["10.0.0.0/8"]
    assert parts.edge_config(parsed()).hooks.most == 5


def test_secrets_do_not_show_in_the_settings_text() -> None:
    shown = repr(
        parsed(
            DATABASE_URL="postgresql://u:hush@h/d",
            SECRET_ENCRYPTION_KEY=KEY.hex(),
            ENDPOINT_TOKEN="sbk_hush",
            METRICS_TOKEN="hush" * 8,
        )
    )

    assert "hush" not in shown
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown


def test_the_data_folder_defaults_by_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.os, "geteuid", lambda: 0)
    assert settings.default_data_dir({}) == Path("/var/lib/switchboard")

    monkeypatch.setattr(settings.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(settings.sys, "platform", "linux")
    assert settings.default_data_dir({"XDG_DATA_HOME": "/d"}) == Path("/d/switchboard")
    assert settings.default_data_dir({"HOME": "/home/a"}) == Path(
        "/home/a/.local/share/switchboard"
    )

    monkeypatch.setattr(settings.sys, "platform", "darwin")
    assert settings.default_data_dir({"HOME": "/Users/a"}) == Path(
        "/Users/a/Library/Application Support/switchboard"
    )


def test_without_a_home_the_folder_of_the_account_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.os, "geteuid", lambda: 65534)

    assert settings.default_data_dir({"HOME": ""}).parts[-3:] == (".local", "share", "switchboard")


def test_an_account_without_any_home_is_told_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.os, "geteuid", lambda: 3_999_999)

    with pytest.raises(SettingsError, match="SWITCHBOARD_DATA_DIR"):
        settings.default_data_dir({})


OIDC = {"OIDC_ISSUER": "https://id.example.org/realm", "OIDC_CLIENT_ID": "sb"}


def test_a_provider_is_its_issuer_and_our_client_id_and_the_rest_has_defaults() -> None:
    found = parsed(**OIDC, BASE_URL="https://sb.example.org").oidc

    assert found == Oidc(issuer="https://id.example.org/realm", client_id="sb",
                         redirect_url="https://sb.example.org/auth/callback")
    assert parsed().oidc is None


def test_everything_about_a_provider_can_be_said() -> None:
    found = parsed(**OIDC, OIDC_CLIENT_SECRET="s3", OIDC_GROUPS_CLAIM="roles",
                   OIDC_REDIRECT_URL="https://sb.example/auth/callback",
                   ENROLLMENT_MODE="allowlist", ENROLLMENT_ALLOW="Ana@Example.org, @b.example").oidc

    assert found == Oidc(issuer="https://id.example.org/realm", client_id="sb", client_secret="s3",
                         redirect_url="https://sb.example/auth/callback", groups_claim="roles",
                         enrollment="allowlist", allow=("ana@example.org", "@b.example"))
    assert "s3" not in repr(found)


def test_the_doors_are_told_all_of_it() -> None:
    found = parsed(**OIDC, OIDC_CLIENT_SECRET="s3", OIDC_GROUPS_CLAIM="roles",
                   ENROLLMENT_MODE="allowlist", ENROLLMENT_ALLOW="@b.example").oidc
    assert found is not None

    told = parts.edge_config(dataclasses.replace(parsed(), oidc=found)).oidc

    assert told is not None
    assert dataclasses.asdict(told) == dataclasses.asdict(found)
    assert "s3" not in repr(told)


@pytest.mark.parametrize("issuer", ["http://localhost:9400", "http://127.0.0.1", "http://[::1]:8"])
def test_a_provider_on_this_machine_may_speak_http(issuer: str) -> None:
    assert parsed(OIDC_ISSUER=issuer, OIDC_CLIENT_ID="sb").oidc is not None


@pytest.mark.parametrize(("changes", "name"), [
    ({"OIDC_ISSUER": "http://id.example.org"}, "OIDC_ISSUER"),
    ({"OIDC_ISSUER": "id.example.org"}, "OIDC_ISSUER"),
    ({"OIDC_ISSUER": "https://id.example.org?x=1"}, "OIDC_ISSUER"),
    ({"OIDC_ISSUER": "https://id.example.org:port"}, "OIDC_ISSUER"),
    ({"OIDC_ISSUER": "https://ana:pw@id.example.org"}, "OIDC_ISSUER"),
    ({"OIDC_ISSUER": ""}, "OIDC_ISSUER"),
    ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID"),
    ({"OIDC_ISSUER": "", "OIDC_CLIENT_ID": "", "OIDC_CLIENT_SECRET": "s"}, "OIDC_ISSUER"),
    ({"OIDC_REDIRECT_URL": "/auth/callback"}, "OIDC_REDIRECT_URL"),
    ({"ENROLLMENT_MODE": "closed"}, "ENROLLMENT_MODE"),
    ({"ENROLLMENT_MODE": "allowlist"}, "ENROLLMENT_ALLOW"),
    ({"ENROLLMENT_ALLOW": "example.org"}, "ENROLLMENT_ALLOW"),
])
def test_half_a_provider_or_a_wrong_one_is_refused_by_name(
    changes: dict[str, str], name: str
) -> None:
    with pytest.raises(SettingsError, match=f"^SWITCHBOARD_{name} "):
        parsed(**{**OIDC, **changes})
