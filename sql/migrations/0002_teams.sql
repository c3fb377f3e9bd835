-- Why: a queue's owner may be a team from the first day, so that no later migration has to
-- rewrite ownership. The screens come later; the rules bind wherever a team row exists.
-- Locks: none on live data (new tables only). Safe live: yes.

create table teams (
  id                       uuid primary key,
  slug                     text not null,
  display_name             text not null,
  created_by               uuid references humans on delete set null,
  members_create_webhooks  boolean not null default false,
  suspended_at             timestamptz,
  created_at               timestamptz not null default clock(),
  constraint teams_slug_unique unique (slug),
  constraint teams_slug_shape
    check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) between 3 and 40)
);

create table retired_team_slugs (
  slug        text primary key,
  retired_at  timestamptz not null default clock(),
  free_at     timestamptz not null
);

create table team_members (
  team_id   uuid not null references teams on delete cascade,
  human_id  uuid not null references humans on delete cascade,
  source    text not null default 'manual',
  role      text not null,
  added_at  timestamptz not null default clock(),
  primary key (team_id, human_id, source),
  constraint team_members_role check (role in ('owner', 'admin', 'member')),
  constraint team_members_source check (source in ('manual', 'oidc_group'))
);
create index team_members_human on team_members (human_id);

create table team_invites (
  id                    uuid primary key,
  team_id               uuid not null references teams on delete cascade,
  email_lower           text not null,
  role                  text not null,
  token_sha256          text not null,
  created_at            timestamptz not null default clock(),
  expires_at            timestamptz not null,
  accepted_at           timestamptz,
  accepted_by_human_id  uuid references humans on delete set null,
  revoked_at            timestamptz,
  constraint team_invites_role check (role in ('owner', 'admin', 'member')),
  constraint team_invites_token_unique unique (token_sha256)
);
create index team_invites_team on team_invites (team_id);

create table team_group_links (
  id          uuid primary key,
  team_id     uuid not null references teams on delete cascade,
  group_name  text not null,
  role        text not null,
  created_at  timestamptz not null default clock(),
  constraint team_group_links_role check (role in ('admin', 'member')),
  constraint team_group_links_unique unique (team_id, group_name)
);

create table operator_audit (
  id              bigint generated always as identity primary key,
  team_id         uuid,
  actor_human_id  uuid not null,
  action          text not null,
  detail          jsonb not null default '{}',
  at              timestamptz not null default clock()
);
create index operator_audit_team on operator_audit (team_id, at desc, id desc);
