-- What an attempt used, as far as it is known.
alter table attempt_end add column tokens integer;
alter table attempt_end add column cost_usd real;
