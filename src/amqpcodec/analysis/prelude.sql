-- Functions of Spark that DuckDB has under another name.
CREATE MACRO unix_micros(t) AS epoch_us(t);
CREATE MACRO timestamp_micros(us) AS make_timestamptz(us);
CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern);
CREATE MACRO nvl(value, other) AS coalesce(value, other);
