-- Why: whether a todo rang within the last minute is asked of its queue's latest reopen bells too,
-- which write no todo (push.md, "Delivery"; R63).
-- Locks: doorbells, while one small index is built and another dropped. Safe live: yes.

create index doorbells_queue_latest on doorbells (queue_id, created_at) where queue_id is not null;
drop index doorbells_queue;
