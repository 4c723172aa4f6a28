-- Roles for the three kinds of users. Grant them to login roles: `grant lapidary_submit to ann;`
do $$
declare
    name text;
begin
    foreach name in array array['lapidary_view', 'lapidary_submit', 'lapidary_work'] loop
        if not exists (select 1 from pg_roles where rolname = name) then
            begin
                execute format('create role %I nologin', name);
            exception when duplicate_object or unique_violation then
                null; -- another database of this server was initialised at the same time
            end;
        end if;
        execute format('grant usage on schema lapidary to %I', name);
        execute format('grant select on all tables in schema lapidary to %I', name);
    end loop;
end
$$;
-- Watching a log marks its attempt.
grant update (watched_until) on lapidary.attempt to lapidary_view;
grant insert on lapidary.ticket, lapidary.spec, lapidary.dependency, lapidary.lane, lapidary.kind to lapidary_submit;
grant update on lapidary.ticket, lapidary.lane, lapidary.prompt to lapidary_submit;
grant update (watched_until) on lapidary.attempt to lapidary_submit;
grant delete on lapidary.dependency to lapidary_submit;
grant insert, update, delete on all tables in schema lapidary to lapidary_work;
revoke insert on lapidary.ticket, lapidary.spec, lapidary.kind from lapidary_work;
revoke update (schema_version) on lapidary.fleet from lapidary_work;
