-- name: delete_objects
-- Tables are empty and locked by now, and none is another's. What an extension brought stays.
do $$
declare
  v_drop text;
begin
  for v_drop in
    select 'drop ' || case c.relkind when 'v' then 'view' when 'c' then 'type' else 'table' end
           || ' if exists ' || quote_ident(c.relname) || ' cascade'
      from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'c')
       and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     order by case c.relkind when 'v' then 1 when 'c' then 2 else 0 end, c.relname
  loop
    execute v_drop;
  end loop;
  for v_drop in
    select 'drop routine if exists ' || quote_ident(p.proname)
           || '(' || pg_get_function_identity_arguments(p.oid) || ') cascade'
      from pg_proc p
     where p.pronamespace = current_schema()::regnamespace
       and not exists (select 1 from pg_depend d where d.objid = p.oid and d.deptype = 'e')
     order by p.proname
  loop
    execute v_drop;
  end loop;
end
$$;

-- name: set_sequence
-- Numbering goes on where it was: an id once shown is never given to another row.
select setval((quote_ident(current_schema()) || '.' || quote_ident(%(name)s::text))::regclass,
              %(last)s, %(called)s);
