-- Why: the vend wizard keeps its answers here between steps, and what is shown once waits here,
-- sealed, between the form that made it and the one page that shows it (data.md, "drafts"). And a
-- webhook's last delivery is the head of an index instead of a walk through all it received.
-- Locks: drafts is new. events against writes while its small index on webhook_id is replaced:
-- deliveries wait, about a second per million events. Safe live: yes.

create table drafts (
  id          uuid primary key,
  human_id    uuid not null references humans on delete cascade,
  kind        text not null,
  data        jsonb not null,
  updated_at  timestamptz not null default clock(),
  expires_at  timestamptz not null,
  constraint drafts_kind check (kind in ('vend', 'vended', 'webhook'))
);
-- One wizard in progress per human: it can be taken up again from any tab.
create unique index drafts_one_vend on drafts (human_id) where kind = 'vend';
create index drafts_human on drafts (human_id, updated_at);
create index drafts_expiring on drafts (expires_at);

create index events_webhook_newest on events (webhook_id, id) where webhook_id is not null;
drop index events_webhook;
