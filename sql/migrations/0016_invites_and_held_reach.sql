-- Why: an invite is worth what its maker may grant at the moment it is accepted (identity.md,
-- "Teams"), so the maker is kept. And who takes a team's work holds what lets them, as a foreign key
-- would, until the commit: a claim that was under way while a membership or a grant ended must not
-- leave a lease behind that nobody released.
-- Locks: team_invites and todos, briefly, for the column and the trigger. Safe live: yes.

-- Nothing made an invite before this, so no row is without its maker.
alter table team_invites add column created_by uuid references humans on delete cascade;

-- The claim of an endpoint holds its grant and, unless the team owns it, its owner's membership; the
-- claim of a human holds theirs. A claim that comes too late changes nothing: it found no
-- todo, and the next call is told that the queue is not there.
create function hold_reach() returns trigger
  language plpgsql volatile
  as $$
declare
  v_team uuid := new.team_id;
  v_human uuid;
  v_holds boolean := true;
begin
  if new.claimed_by_endpoint_id is not null then
    perform 1
      from endpoint_team_grants g
     where g.endpoint_id = new.claimed_by_endpoint_id and g.queue_id = new.queue_id
       for key share;
    v_holds := found;
    select a.owner_human_id
      into v_human
      from endpoints e
      join agents a on a.id = e.agent_id
     where e.id = new.claimed_by_endpoint_id;
  else
    v_human := substr(new.owner, 4)::uuid;
    if v_team is null then
      select a.owner_team_id
        into v_team
        from endpoints e
        join agents a on a.id = e.agent_id
       where e.id = new.endpoint_id;
    end if;
  end if;
  if v_holds and v_team is not null and v_human is not null then
    perform 1
      from team_members m
     where m.team_id = v_team and m.human_id = v_human
       for key share;
    v_holds := found;
  end if;
  if not v_holds then
    raise exception 'the reach of a claim ended under it' using errcode = 'SB002';
  end if;
  return null;
end
$$;

-- An endpoint's own work, the many, never gets as far as the function.
create trigger todos_hold_reach
  after update on todos
  for each row
  when (new.state = 'claimed' and new.attempts_total <> old.attempts_total
        and (new.team_id is not null or new.owner like 'op:%'))
  execute function hold_reach();
