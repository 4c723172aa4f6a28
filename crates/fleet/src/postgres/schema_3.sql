-- Most tickets have no key: they are in no index of keys.
alter table lapidary.ticket drop constraint ticket_request_key_key;
create unique index ticket_request_key on lapidary.ticket (request_key) where request_key is not null;
-- One statement writes each of these rows with the row that it refers to, or after it has locked that row. A check would lock it again; all
-- tickets of a kind would lock the same row.
alter table lapidary.ticket drop constraint ticket_kind_fkey;
alter table lapidary.spec drop constraint spec_ticket_fkey;
alter table lapidary.attempt drop constraint attempt_ticket_fkey;
alter table lapidary.attempt_end drop constraint attempt_end_run_fkey;
