"""Two owners' worth of everything the pages show, and the table of every page and form.

The table is the law of `test_strangers.py`, `test_page_gates.py` and `test_fuzz_pages.py`: a route
that has no row fails there.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flask import Flask
from psycopg.types.json import Jsonb

from app.db.sealing import Sealer
from app.domain.callers import Endpoint, Human
from app.domain.verbs import GRANTABLE
from app.edge import deps
from app.edge.problems import is_json_path
from tests.support.make import Make, QueueId, Team
from tests.support.pg import SEALING_KEY
from tests.web import asking
from tests.web.asking import App, app_called

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method of one page.

    `path` holds `{names}` of a scene; with one that belongs to somebody the page is a tenant's.
    `data` is what its owner posts, and `owner` what they are answered. `other` is the answer to
    another signed-in owner, `member` to a plain member of the team whose thing it is (None: the
    page is not about a thing of a team), `admin` to an admin of that team (None: as its owner).
    `stranger` is the answer to nobody.
    """

    path: str
    owner: int = 200
    data: Mapping[str, str] | None = None
    stranger: int = 302
    other: int | None = None
    member: int | None = None
    admin: int | None = None

    @property
    def names(self) -> list[str]:
        """The names in the path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def is_tenants(self) -> bool:
        """Whether the path names somebody's thing."""
        return any(name not in ("topic", "link", "app", "invitation") for name in self.names)

    @property
    def is_post(self) -> bool:
        """Whether it is a form."""
        return self.data is not None

    @property
    def is_stream(self) -> bool:
        """Whether its answer to somebody signed in has no end."""
        return self.path == "/events"

    @property
    def foreign(self) -> int:
        """What another owner is answered."""
        if self.other is not None:
            return self.other
        return 404 if self.is_tenants else self.owner


def page(path: str, *, member: int | None = None, owner: int = 200, **more: int) -> Row:
    """A page: a stranger is led to sign in."""
    return Row(path=path, member=member, owner=owner, **more)


def form(
    path: str, data: Mapping[str, str] | None = None, *, member: int | None = None,
    owner: int = 303, **more: int,
) -> Row:
    """A form: to a stranger it is 401."""
    return Row(path=path, data=data or {}, member=member, owner=owner, stranger=401, **more)


_BUDGET = {"max_in_flight": "7", "max_claims_per_window": "500", "period": "day", "tz": "UTC",
           "start": "00:00", "reason": "a typed reason", "revision": "1",
           "act": "save"}  # fmt: skip
_SETTLED = {"result": '{"typed": "result"}', "summary": "a typed summary",
            "artifact": "https://example.org/typed"}  # fmt: skip

_ASKED = App("{app}").asks(state="typed").replace("%7B", "{").replace("%7D", "}")

# "METHOD endpoint": what happens. Open rows are for everybody, whoever asks.
TABLE: dict[str, Row] = {
    "GET board.show_board": page("/", stranger=200),
    "GET budgets.show_budgets": page("/budgets"),
    "GET help.index": page("/help", stranger=200),
    "GET help.topic": page("/help/{topic}", stranger=200),
    # --- signing in ---
    "GET account.show_login": page("/login", owner=302, stranger=200),
    "GET account.show_link": page("/auth/link/{link}", stranger=200),
    "POST account.use_link": Row(path="/auth/link/{link}", data={}, owner=303, stranger=303),
    "POST account.use_dev_login": Row(path="/auth/dev-login", data={}, owner=404, stranger=404),
    "POST account.sign_out": form("/logout"),
    "GET oidc.depart": page("/auth/login", owner=503, stranger=503),
    "GET oidc.arrive": page("/auth/callback", owner=503, stranger=503),
    # --- queues and budgets ---
    "GET queues.show_queue": page("/queues/{queue}", member=200),
    "POST queues.pause_queue": form("/queues/{queue}/pause", {"reason": "typed"}, member=404),
    # Nothing tells how this one came to be paused, so the editor opens with the reason (R68).
    "POST queues.resume_queue": form(
        "/queues/{paused}/resume", {"reason": "typed", "revision": "1"}, member=404, owner=409),
    "GET queues.show_editor": page("/queues/{queue}/budget", member=404),
    "POST queues.save_budget": form("/queues/{queue}/budget", _BUDGET, member=404),
    "GET queues.confirm_clear": page("/queues/{queue}/budget/clear", member=404),
    "POST queues.clear_budget": form(
        "/queues/{queue}/budget/clear", {"reason": "typed", "revision": "1"}, member=404),
    "GET queues.show_history": page("/queues/{queue}/history", member=404),
    # --- todos ---
    "GET todos.show_todos": page("/todos"),
    "GET todos.show_todo": page("/todos/{todo}", member=200),
    "GET add_todo.show_form": page("/queues/{queue}/todos", member=200),
    "POST add_todo.add_todo": form(
        "/queues/{queue}/todos",
        {"title": "typed title", "kind": "typed", "payload": '{"typed": 1}', "key": "typed key"},
        member=303),
    "POST todo_actions.claim_todo": form("/todos/{todo}/claim", member=303),
    "POST todo_actions.extend_todo": form("/todos/{mine}/extend", member=409, admin=409),
    "POST todo_actions.release_todo": form("/todos/{mine}/release", member=409, admin=409),
    "POST todo_actions.complete_todo": form(
        "/todos/{mine}/complete", _SETTLED, member=409, admin=409),
    "POST todo_actions.fail_todo": form("/todos/{mine}/fail", _SETTLED, member=409, admin=409),
    "POST todo_actions.retry_todo": form("/todos/{dead}/retry", member=303),
    "GET todo_actions.confirm_discard": page("/todos/{todo}/discard", member=403),
    "POST todo_actions.discard_todo": form("/todos/{parked}/discard", member=403),
    # --- live updates ---
    "GET live.stream": page("/events", stranger=200),
    "POST live.pause": form("/live/pause"),
    "POST live.resume": form("/live/resume"),
    # --- endpoints ---
    "GET endpoints.list_endpoints": page("/endpoints"),
    "GET endpoints.show_endpoint": page("/endpoints/{endpoint}", member=200),
    "POST endpoints.save_lease": form(
        "/endpoints/{endpoint}", {"default_lease_ttl_seconds": "120"}, member=404),
    "POST endpoint_presence.clock": form(
        "/endpoints/{endpoint}/presence", {"presence": "out", "until": "2999-01-01T18:00"},
        member=404),
    "POST endpoint_presence.end_override": form("/endpoints/{endpoint}/presence/end", member=404),
    "POST endpoint_presence.save_shift": form(
        "/endpoints/{endpoint}/shift", {"shift": "Mon-Fri 09:00-17:00"}, member=404),
    "POST endpoint_presence.remove_shift": form("/endpoints/{endpoint}/shift/remove", member=404),
    "POST endpoint_hooks.disable": form("/endpoints/{endpoint}/hooks/{hook}/disable", member=404),
    "POST endpoint_hooks.enable": form("/endpoints/{endpoint}/hooks/{hook}/enable", member=404),
    "GET endpoint_hooks.show_delete": page(
        "/endpoints/{endpoint}/hooks/{hook}/delete", member=404),
    "POST endpoint_hooks.delete": form("/endpoints/{endpoint}/hooks/{hook}/delete", member=404),
    "POST endpoint_teams.grant": form(
        "/endpoints/{second}/team-queues", {"team_queue": "{drained}"}, member=404),
    "GET endpoint_teams.show_remove": page(
        "/endpoints/{endpoint}/team-queues/{drained}/remove", member=404),
    "POST endpoint_teams.remove": form(
        "/endpoints/{endpoint}/team-queues/{drained}/remove", member=404),
    "GET endpoints.show_revoke": page("/endpoints/{endpoint}/revoke", member=404),
    "POST endpoints.revoke": form("/endpoints/{endpoint}/revoke", member=404),
    "GET endpoints.show_delete": page("/endpoints/{revoked}/delete", member=404),
    "POST endpoints.delete": form("/endpoints/{revoked}/delete", member=404),
    # --- vending ---
    "GET vend.start": page("/endpoints/vend", owner=303),
    "GET vend.show_step": page("/endpoints/vend/queues"),
    "POST vend.save_agent": form("/endpoints/vend/agent", {"name": "typed name"}),
    "POST vend.save_queues": form("/endpoints/vend/queues", {"queues": "typed-queue"}),
    "POST vend.save_verbs": form("/endpoints/vend/verbs", {"drain": "claim_next"}),
    "POST vend.save_webhook": form("/endpoints/vend/webhook", {"source": "github"}),
    "POST vend.save_lifetime": form(
        "/endpoints/vend/lifetime", {"lifetime": "custom", "custom": "90m", "lease": "90"}),
    "POST vend.restart": form("/endpoints/vend/restart"),
    "GET vend.show_confirm": page("/endpoints/vend/confirm"),
    "POST vend.confirm": form(
        "/endpoints/vend/confirm", {"draft": "{draft}", "seen": "typed"}, owner=409, other=303),
    "GET vend.show_vended": page("/endpoints/shown/{vended}"),
    # --- webhooks ---
    "GET webhooks.list_webhooks": page("/webhooks"),
    "GET webhooks.show_new": page("/webhooks/new"),
    "POST webhooks.create": form(
        "/webhooks/new",
        {"endpoint": "{endpoint}", "source_type": "gitea", "target_queue": "inbox"}, other=422),
    "GET webhooks.show_secrets": page("/webhooks/shown/{rotated}"),
    "GET webhooks.show_webhook": page("/webhooks/{webhook}", member=404),
    "GET webhooks.show_rotate": page("/webhooks/{webhook}/rotate", member=404),
    "POST webhooks.rotate": form("/webhooks/{webhook}/rotate", member=404),
    "GET webhooks.show_delete": page("/webhooks/{webhook}/delete", member=404),
    "POST webhooks.delete": form("/webhooks/{webhook}/delete", member=404),
    "POST webhooks.add_route": form(
        "/webhooks/{webhook}/routes", {"endpoint": "{second}"}, member=404),
    "POST webhooks.remove_route": form(
        "/webhooks/{webhook}/routes/{target}/remove", member=404),
    # --- settings ---
    "GET settings.show": page("/settings"),
    "POST settings.save": form(
        "/settings/preferences",
        {"zone": "Asia/Tokyo", "theme": "dark", "announce": "status_only"}),
    "POST settings.offer_zone": form("/settings/zone", {"zone": "Asia/Tokyo"}, owner=204),
    "POST settings.mint_token": form("/settings/tokens", {"name": "typed token"}, owner=200),
    "GET settings.confirm_revoke": page("/settings/tokens/{token}/revoke"),
    "POST settings.revoke": form("/settings/tokens/{token}/revoke"),
    "POST settings.link_device": form("/settings/device", owner=200),
    # --- teams ---
    "GET teams.list_teams": page("/teams"),
    "GET teams.show_new": page("/teams/new"),
    "POST teams.create": form("/teams/new", {"display_name": "typed name", "slug": "typed-slug"}),
    "GET teams.show_team": page("/teams/{team}", member=200),
    "GET teams.show_edit": page("/teams/{team}/edit", member=403),
    "POST teams.edit": form(
        "/teams/{team}/edit",
        {"display_name": "typed name", "slug": "typed-slug", "members_create_webhooks": "y"},
        member=403, admin=403),
    "GET team_ends.show_leave": page("/teams/{team}/leave", member=200),
    "POST team_ends.leave": form("/teams/{team}/leave", member=303),
    "GET team_ends.show_transfer": page("/teams/{team}/transfer", member=403, admin=403),
    "POST team_ends.transfer": form(
        "/teams/{team}/transfer", {"human_id": "{mate}"}, member=403, admin=403),
    "GET team_ends.show_delete": page("/teams/{team}/delete", member=403, admin=403),
    # The team's endpoint is active still.
    "POST team_ends.delete": form("/teams/{team}/delete", member=403, admin=403, owner=409),
    "GET team_members.show_role": page("/teams/{team}/members/{mate}", member=403),
    "POST team_members.set_role": form(
        "/teams/{team}/members/{mate}", {"role": "admin"}, member=403),
    "GET team_members.show_remove": page("/teams/{team}/members/{mate}/remove", member=403),
    "POST team_members.remove": form("/teams/{team}/members/{mate}/remove", member=403),
    "GET team_invites.show_invites": page("/teams/{team}/invites", member=403),
    "POST team_invites.create": form(
        "/teams/{team}/invites", {"email": "typed@example.org", "role": "member"}, member=403,
        owner=200),
    "GET team_invites.show_revoke": page("/teams/{team}/invites/{invite}/revoke", member=403),
    "POST team_invites.revoke": form("/teams/{team}/invites/{invite}/revoke", member=403),
    "GET team_groups.show_groups": page("/teams/{team}/groups", member=403),
    "POST team_groups.add": form(
        "/teams/{team}/groups", {"group": "typed-group", "role": "member"}, member=403, admin=403),
    "GET team_groups.show_remove": page(
        "/teams/{team}/groups/{group}/remove", member=403, admin=403),
    "POST team_groups.remove": form(
        "/teams/{team}/groups/{group}/remove", member=403, admin=403),
    "POST team_queues.create": form("/teams/{team}/queues", {"name": "typed-queue"}, member=403),
    "GET team_queues.show_delete": page("/teams/{team}/queues/{spare}/delete", member=403),
    "POST team_queues.delete": form("/teams/{team}/queues/{spare}/delete", member=403),
    "GET invites.show_invite": page("/invites/{invitation}", stranger=200),
    "POST invites.accept": form("/invites/{invitation}", {"decision": "accept"}),
    # --- apps ---
    "GET consent.show": page(_ASKED),
    "POST consent.decide": form(
        _ASKED, {"endpoint": "{endpoint}", "drain": "claim_next", "decision": "allow"}, other=422),
    "GET apps.show_apps": page("/settings/apps"),
    "GET apps.confirm_revoke": page("/settings/apps/{grant}/revoke", member=404),
    "POST apps.revoke": form("/settings/apps/{grant}/revoke", member=404),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One owner's things by the names that paths use; `words` appear on no page of another."""

    human: Human
    names: Mapping[str, str]
    words: tuple[str, ...]
    member: Human | None = None
    admin: Human | None = None
    team: Team | None = None

    def path(self, row: Row) -> str:
        """The address of this scene's own thing."""
        return row.path.format(**self.names)

    def data(self, row: Row) -> dict[str, str]:
        """What is posted there."""
        return {name: text.format(**self.names) if text.startswith("{") and ":" not in text
                else text for name, text in (row.data or {}).items()}  # fmt: skip


def of_human(make: Make, name: str) -> Scene:
    """A person with one of everything."""
    human = make.human(name)
    first = make.endpoint(human, queues=(f"{name}-in", "inbox", "rest"), verbs=GRANTABLE,
                          name=f"{name} lane {next(_numbers)}")  # fmt: skip
    return _scene(make, human, first, make.queue_id(first, "inbox"), make.queue_id(first, "rest"))


def of_team(make: Make, slug: str) -> Scene:
    """A team with one of everything: its owner, an admin, and a plain member."""
    team, owner, member = make.team(slug), make.human(f"{slug} boss"), make.human(f"{slug} hand")
    admin = make.human(f"{slug} chief")
    make.member(team, owner, "owner")
    make.member(team, member)
    make.member(team, admin, "admin")
    first = make.endpoint(owner, team, queues=("inbox", "rest"), verbs=GRANTABLE,
                          name=f"{slug} lane {next(_numbers)}")  # fmt: skip
    return _scene(make, owner, first, make.team_queue(team, "inbox"),
                  make.team_queue(team, "rest"), team=team, member=member, admin=admin)  # fmt: skip


def _scene(
    make: Make, human: Human, first: Endpoint, queue: QueueId, paused: QueueId, *,
    team: Team | None = None, member: Human | None = None, admin: Human | None = None,
) -> Scene:  # fmt: skip
    second = make.endpoint(human, team, name=f"{first.agent_name} two")
    third = make.endpoint(human, team, name=f"{first.agent_name} three")
    gone = make.endpoint(human, team, name=f"{first.agent_name} gone")
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s", gone.id)
    make.policy(queue, max_in_flight=5, max_claims_per_window=100, human=human)
    make.policy(paused, max_in_flight=0, human=human)
    hook = make.webhook(first)
    make.route(hook, third, granted_by=human)
    drained = _drained(make, human, first, team)
    title = f"{first.agent_name} secret"
    todo = {
        "todo": make.todo(queue=queue, title=title),
        "mine": make.todo(queue=queue, state="claimed", holder=human, title=title),
        "dead": make.todo(first, queue, state="failed", title=title),
        "parked": make.todo(first, queue, state="failed", title=title,
                            next_retry_at=make.now().replace(year=2099)),
    }  # fmt: skip
    names = {
        "queue": str(int(queue)), "paused": str(int(paused)), "endpoint": str(first.id),
        "second": str(second.id), "target": str(third.id), "revoked": str(gone.id),
        "webhook": str(hook.id), "hook": str(make.notify_hook(first)),
        "link": make.login_link(human), "topic": "claims",
        "drained": str(int(drained)),
        "app": app_called(make, f"{title} asks").client_id,
        "grant": str(asking.grant(make, first, f"{title} app")),
        "token": hashlib.sha256(make.operator_token(human, name=f"{title} token").encode()
                                ).hexdigest(),
        **{name: str(made) for name, made in todo.items()},
        **_drafts(make, human, first, str(hook.id), title),
        **_team(make, human, team, title),
    }  # fmt: skip
    return Scene(human=human, names=names, words=(title, first.slug, second.slug), member=member,
                 admin=admin, team=team)


def _drained(make: Make, human: Human, first: Endpoint, team: Team | None) -> QueueId:
    """A team queue the endpoint drains: of the team that owns it, or of one its owner works in."""
    if team is None:
        team = make.team()
        make.member(team, human)
    queue = make.team_queue(team, "shared")
    make.grant(first, queue)
    return queue


def _team(make: Make, human: Human, team: Team | None, title: str) -> dict[str, str]:
    """A team the person runs beside another owner, with one of everything that can be ended."""
    mate, heir = make.human(f"{title} mate"), make.human()
    if team is None:
        team = make.team()
        make.member(team, human, "owner")
        make.endpoint(human, team)
    make.member(team, mate)
    make.member(team, heir, "owner")
    make.run("update humans set oidc_groups = array['typed-group'] where id = %s", human.id)
    group, invite, token = uuid.uuid4(), uuid.uuid4(), uuid.uuid4().hex
    make.run("insert into team_group_links (id, team_id, group_name, role)"
             " values (%s, %s, 'other', 'member')", group, team.id)  # fmt: skip
    make.run("insert into team_invites (id, team_id, email_lower, role, token_sha256, expires_at,"
             " created_by) values (%s, %s, %s, 'member', %s, clock() + interval '7 days', %s)",
             invite, team.id, f"{title}@example.org", hashlib.sha256(token.encode()).hexdigest(),
             human.id)  # fmt: skip
    return {
        "team": team.slug, "mate": str(mate.id), "group": str(group), "invite": str(invite),
        "invitation": token, "spare": str(int(make.team_queue(team, "spare"))),
    }  # fmt: skip


def _drafts(make: Make, human: Human, first: Endpoint, hook: str, title: str) -> dict[str, str]:
    answers = {"name": title, "queues": ["inbox"], "verbs": ["claim_next"], "source": "github",
               "lifetime": "7d", "lease": None}  # fmt: skip
    return {
        "draft": _draft(make, human, "vend", answers),
        "vended": _draft(make, human, "vended", {"subject": str(first.id)},
                         {"token": "sbk_x", "ingest_token": "ab"}),
        "rotated": _draft(make, human, "webhook", {"subject": hook},
                          {"signing_secret": "s", "ingest_token": "ab"}),
    }


def _draft(
    make: Make, human: Human, kind: str, data: dict[str, object],
    secrets: dict[str, str] | None = None,
) -> str:  # fmt: skip
    made = str(uuid.uuid4())
    if secrets is not None:
        data = {**data, "sealed": Sealer(SEALING_KEY).seal(json.dumps(secrets), made)}
    make.run("insert into drafts (id, human_id, kind, data, expires_at)"
             " values (%s, %s, %s, %s, clock() + interval '24 hours')",
             made, human.id, kind, Jsonb(data))  # fmt: skip
    return made


def rules(app: Flask) -> Iterator[str]:
    """Every method of every page and form, as keys of the table."""
    for rule in app.url_map.iter_rules():
        if not (is_json_path(rule.rule) or rule.rule.startswith("/static/")):
            yield from (f"{method} {rule.endpoint}"
                        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}))


def without_limits(app: Flask) -> None:
    """Lets hundreds of requests of one person through: their buckets are always full."""
    with app.app_context():
        limits = deps.state().limits
    for bucket in (limits.board_posts, limits.sign_in, limits.oauth):
        bucket._clock = _leaping()


def _leaping() -> Callable[[], float]:
    seconds = itertools.count(0.0, 1000.0)
    return lambda: next(seconds)


def everything(make: Make) -> str:
    """A fingerprint of every row of every table but the sessions, whose ends move."""
    tables = make.rows(
        "select relname from pg_class where relnamespace = 'public'::regnamespace"
        " and relkind = 'r' and relname not in ('sessions', 'moved_clock') order by 1")
    rows = "select coalesce(string_agg(md5(t::text), '' order by md5(t::text)), '') from {} t"
    return hashlib.sha256("\n".join(
        f"{name} {make.value(rows.format(name))}" for (name,) in tables).encode()).hexdigest()


_UNKNOWN = {
    "queue": "999999999", "drained": "999999999", "paused": "999999999", "topic": "nothing",
    "link": "nothing", "invitation": "nothing", "spare": "999999999",
    "token": "0" * 64, **dict.fromkeys(("todo", "mine", "dead", "parked"), "td_" + "0" * 32),
}  # fmt: skip


def unknown(name: str) -> str:
    """An id of the same kind that names nothing."""
    return _UNKNOWN.get(name, "00000000-0000-4000-8000-000000000000")


def statements(said: list[str]) -> list[str]:
    """What was asked of the database, without the words of the parameters."""
    return [" ".join(text.split()) for text in said]
