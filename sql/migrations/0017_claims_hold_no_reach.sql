-- Why: a claim that held its grant and membership until its commit could deadlock with their end. A
-- pick keeps the lock of a todo it skipped because somebody took it meanwhile, and the removal waits
-- for that very todo. Now neither waits: each looks once more after its own commit, and whichever
-- commits last gives the todo back.
-- Locks: todos, briefly, for the trigger. Safe live: yes.

drop trigger todos_hold_reach on todos;
drop function hold_reach();
