-- Why: a process asks for the doorbells of its own endpoints with every notice. By id alone it would
-- read each time what nobody will ever take, until the pruner comes round (push.md, "Delivery").
-- Locks: doorbells, while two small indexes are built and one is dropped. Safe live: yes.

create index doorbells_waiting on doorbells (endpoint_id, created_at) where taken_at is null;
drop index doorbells_owed;
