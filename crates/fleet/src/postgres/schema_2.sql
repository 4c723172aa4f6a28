-- What an attempt used, as far as it is known.
alter table lapidary.attempt_end add column tokens bigint, add column cost_usd double precision;
