-- Why: a board counts the dead letters of each queue on every load and shows the newest; without
-- an index it would read every todo that ever failed. Dead letters are few, and so are its writes.
-- Locks: todos, against writes, while the index is built. Safe live: yes, a large table waits.

create index todos_dead on todos (queue_id, updated_at desc, id desc)
  where state = 'failed' and next_retry_at is null;
