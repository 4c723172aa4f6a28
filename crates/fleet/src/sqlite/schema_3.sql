-- What changed, for those who poll: counts of changes, which a heartbeat does not change.
alter table fleet add column queue_changes integer not null default 0;
alter table fleet add column order_changes integer not null default 0;
alter table fleet add column state_changes integer not null default 0;
