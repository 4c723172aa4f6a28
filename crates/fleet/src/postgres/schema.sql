create schema lapidary;

create table lapidary.fleet (
    one boolean primary key default true check (one),
    schema_version bigint not null,
    beat_at timestamptz not null default '-infinity'
) with (fillfactor = 10);
insert into lapidary.fleet (schema_version) values (0);

create table lapidary.worker (
    id text primary key, -- minted at every start
    name text not null,
    host text not null,
    version text not null,
    labels text[] not null,
    slots integer not null,
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    draining boolean not null default false,
    left_at timestamptz
) with (fillfactor = 70);

create table lapidary.lane (
    name text primary key,
    running integer not null default 0 check (running >= 0),
    max integer check (max > 0)
) with (fillfactor = 50);

-- Tickets with the same lanes and the same needs.
create table lapidary.kind (
    id bigint generated always as identity primary key,
    key text not null unique,
    lanes text[] not null, -- sorted
    needs text[] not null, -- sorted
    last_claim timestamptz not null default 'epoch'
) with (fillfactor = 50);

create table lapidary.ticket (
    id text collate "C" primary key,
    state text not null check (state in ('blocked', 'waiting', 'running', 'done')),
    spec_version integer not null,
    content_hash bytea not null,
    request_key text unique,
    title text not null,
    agent text,
    retry text not null,
    kind bigint not null references lapidary.kind (id),
    priority smallint not null,
    not_before timestamptz not null,
    term bigint not null default 0,
    attempts integer not null default 0,
    lost integer not null default 0,
    released integer not null default 0,
    max_attempts integer not null,
    attempts_allowed integer not null,
    losses_allowed integer not null,
    worker text,
    nonce text,
    lease_until timestamptz,
    lease bigint, -- milliseconds
    cancel_by text,
    cancel_why text,
    cancel_now boolean not null default false,
    outcome text,
    cause text,
    created_by text not null,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    ended_at timestamptz
) with (fillfactor = 70);
create index ticket_waiting on lapidary.ticket (kind, priority desc, not_before, id) where state = 'waiting';
create index ticket_lease on lapidary.ticket (lease_until) where state = 'running';
create index ticket_held on lapidary.ticket (worker) where state = 'running';
create index ticket_open on lapidary.ticket (state, id) where state <> 'done';

create table lapidary.spec (
    ticket text collate "C" primary key references lapidary.ticket (id),
    body bytea not null
);

create table lapidary.dependency (
    ticket text collate "C" not null references lapidary.ticket (id),
    predecessor text collate "C" not null references lapidary.ticket (id),
    primary key (ticket, predecessor)
);
create index dependency_predecessor on lapidary.dependency (predecessor);

create table lapidary.attempt (
    run text collate "C" primary key,
    ticket text collate "C" not null references lapidary.ticket (id),
    number integer not null,
    term bigint not null,
    worker text not null,
    next_seq bigint not null default 0,
    touched boolean not null default false,
    watched_until timestamptz not null default '-infinity',
    started_at timestamptz not null,
    ended_at timestamptz,
    outcome text,
    cause text,
    fate text, -- of the ticket: waiting, or done with
    fate_outcome text,
    fate_cause text,
    unique (ticket, term)
) with (fillfactor = 50);

create table lapidary.attempt_end (
    run text collate "C" primary key references lapidary.attempt (run),
    evidence bytea,
    result bytea
);

-- `bytea`, not `jsonb`: events are kept as they are, with NUL and lone surrogates.
create table lapidary.chunk (
    run text collate "C" not null references lapidary.attempt (run),
    first bigint not null,
    last bigint not null,
    at timestamptz not null default now(),
    body bytea not null,
    primary key (run, first)
);

create table lapidary.prompt (
    run text collate "C" not null references lapidary.attempt (run),
    request bytea not null, -- the agent's own id
    ticket text collate "C" not null,
    seq bigint not null,
    body bytea not null,
    asked_at timestamptz not null default now(),
    answer bytea,
    answered_by text,
    answered_at timestamptz,
    settled text,
    primary key (run, request)
);
create index prompt_open on lapidary.prompt (ticket) where settled is null;

create table lapidary.artifact (
    run text collate "C" not null references lapidary.attempt (run),
    name text not null,
    media_type text not null,
    parts integer not null,
    bytes bigint not null,
    sha256 bytea not null,
    primary key (run, name)
);

create table lapidary.artifact_part (
    run text collate "C" not null references lapidary.attempt (run),
    name text not null,
    part integer not null,
    body bytea not null,
    primary key (run, name, part)
);
