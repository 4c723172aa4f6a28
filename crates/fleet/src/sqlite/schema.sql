create table fleet (
    one integer primary key check (one = 1),
    beat_at integer not null
);
insert into fleet (one, beat_at) values (1, 0);

create table worker (
    id text primary key, -- minted at every start
    name text not null,
    host text not null,
    version text not null,
    labels text not null, -- JSON
    slots integer not null,
    started_at integer not null, -- milliseconds since 1970, as all times
    seen_at integer not null,
    draining integer not null default 0,
    left_at integer
) without rowid;

create table lane (
    name text primary key,
    running integer not null default 0 check (running >= 0),
    max integer check (max > 0)
) without rowid;

-- Tickets with the same lanes and the same needs.
create table kind (
    id integer primary key,
    key text not null unique,
    lanes text not null, -- JSON, sorted
    needs text not null, -- JSON, sorted
    last_claim integer not null default 0
);

create table ticket (
    id text primary key,
    state text not null check (state in ('blocked', 'waiting', 'running', 'done')),
    spec_version integer not null,
    content_hash blob not null,
    request_key text unique,
    title text not null,
    agent text,
    retry text not null,
    kind integer not null references kind (id),
    priority integer not null,
    not_before integer not null,
    term integer not null default 0,
    attempts integer not null default 0,
    lost integer not null default 0,
    released integer not null default 0,
    max_attempts integer not null,
    attempts_allowed integer not null,
    losses_allowed integer not null,
    worker text,
    nonce text,
    lease_until integer,
    lease integer,
    cancel_by text,
    cancel_why text,
    cancel_now integer not null default 0,
    outcome text,
    cause text,
    created_by text not null,
    created_at integer not null,
    started_at integer,
    ended_at integer
) without rowid;
create index ticket_waiting on ticket (kind, priority desc, not_before, id) where state = 'waiting';
create index ticket_lease on ticket (lease_until) where state = 'running';
create index ticket_held on ticket (worker) where state = 'running';
create index ticket_open on ticket (state, id) where state <> 'done';

-- Apart from the ticket, whose row is written often.
create table spec (
    ticket text primary key references ticket (id),
    body blob not null
);

create table dependency (
    ticket text not null references ticket (id),
    predecessor text not null references ticket (id),
    primary key (ticket, predecessor)
) without rowid;
create index dependency_predecessor on dependency (predecessor);

create table attempt (
    run text primary key,
    ticket text not null references ticket (id),
    number integer not null,
    term integer not null,
    worker text not null,
    next_seq integer not null default 0,
    touched integer not null default 0,
    watched_until integer not null default 0,
    started_at integer not null,
    ended_at integer,
    outcome text,
    cause text,
    fate text, -- of the ticket: waiting, or done with
    fate_outcome text,
    fate_cause text
) without rowid;
create unique index attempt_term on attempt (ticket, term);

create table attempt_end (
    run text primary key references attempt (run),
    evidence blob,
    result blob
);

create table chunk (
    run text not null references attempt (run),
    first integer not null,
    last integer not null,
    at integer not null,
    body blob not null
);
create unique index chunk_first on chunk (run, first);

create table prompt (
    run text not null references attempt (run),
    request text not null,
    ticket text not null,
    seq integer not null,
    body blob not null,
    asked_at integer not null,
    answer blob,
    answered_by text,
    answered_at integer,
    settled text,
    primary key (run, request)
);
create index prompt_open on prompt (ticket) where settled is null;

create table artifact (
    run text not null references attempt (run),
    name text not null,
    media_type text not null,
    parts integer not null,
    bytes integer not null,
    sha256 blob not null,
    primary key (run, name)
);

create table artifact_part (
    run text not null references attempt (run),
    name text not null,
    part integer not null,
    body blob not null,
    primary key (run, name, part)
);
