-- Why: an invite is worth what its maker may grant at the moment it is accepted (identity.md,
-- "Teams"), so the maker is kept. Nothing made an invite before this.
-- Locks: team_invites, briefly, for the column. Safe live: yes.

alter table team_invites add column created_by uuid references humans on delete cascade;
