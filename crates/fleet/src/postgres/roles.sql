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
-- The columns of a cancellation, a retry and an answer: terms and leases are the workers' own, and a question is what was asked.
grant update (state, outcome, cause, ended_at, not_before, cancel_by, cancel_why, cancel_now, attempts_allowed, losses_allowed)
    on lapidary.ticket to lapidary_submit;
grant update (answer, answered_by, answered_at) on lapidary.prompt to lapidary_submit;
grant update (max) on lapidary.lane to lapidary_submit;
grant update (watched_until) on lapidary.attempt to lapidary_submit;
grant delete on lapidary.dependency to lapidary_submit;
grant insert, update, delete on all tables in schema lapidary to lapidary_work;
-- A worker that could write a spec could let other workers run what it likes.
revoke insert on lapidary.ticket, lapidary.kind from lapidary_work;
revoke insert, update on lapidary.spec from lapidary_work;
-- A grant of the whole table covers each column, so it goes as a whole.
revoke insert, update, delete on lapidary.fleet from lapidary_work;
grant update (beat_at) on lapidary.fleet to lapidary_work;
