-- Why: a todo's page says how often its key was met again (board.md, "Todos view"). Beside todos and
-- without a foreign key: a redelivery must not wait for the row lock of a claim, and a claim's
-- update must not carry a number that only a page reads.
-- Locks: todos, briefly, for the trigger. Safe live: yes.

create table todo_repeats (
  todo_id  text primary key,
  n        bigint not null
) with (fillfactor = 70);

-- What a foreign key would have done, once per statement that deletes todos.
create function forget_repeats() returns trigger
  language plpgsql
  as $$
begin
  delete from todo_repeats r using gone g where r.todo_id = g.id;
  return null;
end
$$;

create trigger todos_forget_repeats
  after delete on todos
  referencing old table as gone
  for each statement execute function forget_repeats();
