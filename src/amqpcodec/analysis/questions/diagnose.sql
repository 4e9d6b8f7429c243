-- columns: connection, connection_name, virtual_host, event, answers, outcome, initiator, certainty, exchange, routing_key, queue, settles, request, reply_code, reason, reply_text, redelivered, message_id, content, message_count, elapsed_us, heartbeat_s, time_us, timestamp
-- A row a finding, the most severe first: what went wrong, for whom, how often, when.
WITH each AS (
  SELECT connection, max(connection_name) AS connection_name, max(virtual_host) AS virtual_host,
         max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost') THEN timestamp END) AS ended_at,
         max(CASE WHEN event = 'connection-refused' THEN 1 ELSE 0 END) AS refused,
         max(CASE WHEN event = 'connection-closed' AND (reply_code NOT IN (0, 200) OR reply_code IS NULL AND reason IS NOT NULL) THEN 1 ELSE 0 END) AS closed,
         max(CASE WHEN event = 'connection-lost' THEN 1 ELSE 0 END) AS lost,
         max(CASE WHEN event = 'heartbeat-missed' THEN 1 ELSE 0 END) AS missed,
         count(*) FILTER (WHERE event IN ('gap', 'protocol-error') OR event = 'connection-opened' AND certainty <> 'exact'
                             OR event = 'delivered' AND settles IS NULL) AS doubts,
         count(*) FILTER (WHERE event = 'requeued') AS requeued,
         count(*) FILTER (WHERE event = 'unconfirmed') AS unconfirmed,
         max(CASE WHEN event = 'requeued' THEN queue END) AS queue,
         max(CASE WHEN event IN ('connection-refused', 'connection-closed') THEN reply_code END) AS reply_code,
         max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost') THEN coalesce(reason || ' - ' || reply_text, reply_text, reason) END) AS text,
         max(CASE WHEN event = 'heartbeat-missed' THEN initiator END) AS silent,
         max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost', 'heartbeat-missed', 'requeued', 'unconfirmed') THEN certainty END) AS certainty,
         max(CASE WHEN event = 'heartbeat-missed' THEN heartbeat_s END) AS heartbeat_s,
         max(CASE WHEN event = 'heartbeat-missed' THEN elapsed_us END) AS silence_us,
         CASE WHEN max(CASE WHEN event = 'connection-opened' AND certainty = 'exact' THEN 1 ELSE 0 END) = 1
               AND max(CASE WHEN event IN ('connection-closed', 'connection-lost') THEN 1 ELSE 0 END) = 1
               AND max(time_us) - min(time_us) < 2000000 THEN 1 ELSE 0 END AS is_short,
         min(time_us) AS first_us
  FROM events
  GROUP BY connection
), repeated AS (
  SELECT each.*,
         sum(CASE WHEN is_short = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY translate(connection_name, '0123456789', '')) AS alike,
         max(CASE WHEN is_short = 1 THEN first_us END) OVER (PARTITION BY translate(connection_name, '0123456789', ''))
           - min(CASE WHEN is_short = 1 THEN first_us END) OVER (PARTITION BY translate(connection_name, '0123456789', '')) AS within_us
  FROM each
), ended AS (
  SELECT CASE WHEN refused = 1 THEN 'connection refused'
              WHEN closed = 1 THEN 'connection closed with an error'
              WHEN lost = 1 AND missed = 1 THEN 'heartbeat missed'
              WHEN lost = 1 AND requeued > 0 THEN 'lost with unsettled messages'
              WHEN lost = 1 AND unconfirmed > 0 THEN 'lost with unconfirmed publishes'
              WHEN is_short = 1 AND alike >= 20 AND within_us < alike * 1000000 THEN 'many short connections'
              WHEN lost = 1 THEN 'lost without a close' END AS finding,
         repeated.*
  FROM repeated
), kinds AS (
  SELECT CASE WHEN event = 'channel-closed' AND (reply_code NOT IN (0, 200) OR reply_code IS NULL AND reason IS NOT NULL) THEN 'channel closed with an error'
              WHEN event = 'link-closed' AND reason IS NOT NULL THEN 'link closed with an error'
              WHEN event = 'confirmed' AND outcome = 'rejected' THEN 'publishes nacked'
              WHEN event = 'returned' OR event = 'confirmed' AND outcome IN ('released', 'modified') THEN 'messages returned'
              WHEN event = 'unroutable' THEN 'messages lost in silence'
              WHEN event = 'settled' AND outcome = 'rejected' THEN 'messages rejected'
              WHEN event = 'settled' AND outcome = 'accepted' AND elapsed_us IS NOT NULL THEN 'slow work'
              WHEN event = 'blocked' THEN 'publishers blocked'
              WHEN event = 'consumer-cancelled' AND initiator = 'server' THEN 'consumer cancelled by the broker'
              WHEN event = 'waiting' AND answers IS NOT NULL AND settles = 'manual' THEN 'deliveries not settled'
              WHEN event = 'waiting' AND answers IS NULL AND request IS NOT NULL THEN 'request without an answer'
              WHEN event = 'protocol-error' THEN 'malformed frames'
              WHEN event = 'gap' THEN 'recording incomplete' END AS finding,
         connection, connection_name, virtual_host, queue, exchange, reply_code,
         CASE WHEN event = 'unroutable' THEN 'no queue gets them - such as ' || coalesce(routing_key, '') WHEN event = 'protocol-error' THEN coalesce(reason, 'what ' || coalesce('the ' || initiator || ' sent', 'was sent') || ' cannot be read or stands in the wrong place') WHEN event <> 'waiting' THEN coalesce(reason || ' - ' || reply_text, reply_text, reason) WHEN answers IS NULL THEN request END AS text, certainty, elapsed_us, timestamp
  FROM events
), places AS (
  SELECT finding, connection_name, virtual_host,
         CASE WHEN finding IN ('messages rejected', 'slow work', 'deliveries not settled', 'consumer cancelled by the broker', 'link closed with an error') THEN queue END AS queue,
         CASE WHEN finding IN ('publishes nacked', 'messages returned', 'messages lost in silence') THEN exchange END AS exchange,
         reply_code, split_part(text, ' - ', 1) AS code_text, max(text) AS text, max(certainty) AS certainty,
         count(*) AS count, count(DISTINCT connection) AS connections, min(timestamp) AS first_event, max(timestamp) AS last_event,
         CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY elapsed_us) AS BIGINT) AS half_us, max(elapsed_us) AS longest_us
  FROM kinds
  WHERE finding IS NOT NULL
  GROUP BY finding, connection_name, virtual_host,
           CASE WHEN finding IN ('messages rejected', 'slow work', 'deliveries not settled', 'consumer cancelled by the broker', 'link closed with an error') THEN queue END,
           CASE WHEN finding IN ('publishes nacked', 'messages returned', 'messages lost in silence') THEN exchange END, reply_code, split_part(text, ' - ', 1)
), ranked AS (
  SELECT places.*, row_number() OVER (PARTITION BY finding ORDER BY half_us, connection_name NULLS LAST, virtual_host NULLS LAST, queue NULLS LAST) AS place_rank,
         count(*) OVER (PARTITION BY finding) AS ranks
  FROM places
), compared AS (
  SELECT ranked.*, max(CASE WHEN place_rank = floor((ranks + 1) / 2) THEN half_us END) OVER (PARTITION BY finding) AS middle_us,
         max(CASE WHEN finding = 'slow work' THEN half_us END) OVER (PARTITION BY connection_name, virtual_host, queue) AS work_us,
         max(CASE WHEN finding = 'recording incomplete' THEN 1 ELSE 0 END) OVER (PARTITION BY connection_name, virtual_host) AS is_incomplete
  FROM ranked
), loops AS (
  SELECT virtual_host, queue, message_id, content, grouping(content) AS is_queue, max(CASE WHEN event IN ('published', 'delivered', 'requeued', 'settled') THEN reply_code END) AS reply_code,
         max(CASE WHEN event = 'delivered' THEN connection_name END) AS connection_name,
         count(*) FILTER (WHERE event = 'delivered' AND redelivered) AS redeliveries,
         greatest(count(*) FILTER (WHERE event = 'published'), count(*) FILTER (WHERE event = 'delivered' AND NOT redelivered), 1) AS copies,
         count(*) FILTER (WHERE event = 'requeued' OR event = 'settled' AND outcome IN ('released', 'modified')) AS returns,
         min(CASE WHEN event IN ('published', 'delivered', 'requeued', 'settled') THEN timestamp END) AS first_event,
         max(CASE WHEN event IN ('published', 'delivered', 'requeued', 'settled') THEN timestamp END) AS last_event,
         greatest(CASE WHEN message_id IS NULL THEN 'inferred' ELSE 'exact' END,
                  max(CASE WHEN event IN ('published', 'delivered', 'requeued', 'settled', 'waiting', 'purged') THEN certainty END)) AS certainty,
         count(*) FILTER (WHERE event = 'published') AS published,
         count(*) FILTER (WHERE event = 'delivered') AS delivered,
         count(*) FILTER (WHERE event = 'delivered' AND settles = 'automatic' OR event = 'settled' AND outcome = 'accepted' AND answers IS NOT NULL) AS acknowledged,
         count(*) FILTER (WHERE event IN ('requeued', 'waiting') AND answers IS NOT NULL AND settles = 'manual' OR event = 'settled' AND outcome IN ('released', 'modified') AND answers IS NOT NULL) AS back,
         CAST(coalesce(sum(CASE WHEN event = 'purged' THEN message_count END), 0) AS BIGINT) AS purged,
         min(CASE WHEN event = 'declared' THEN time_us END) AS declared_us,
         min(CASE WHEN event = 'declared' AND message_count = 0 AND certainty = 'exact' THEN time_us END) AS empty_us,
         min(CASE WHEN event IN ('published', 'delivered', 'bound') THEN time_us END) AS used_us,
         count(*) FILTER (WHERE event = 'deleted' OR event = 'purged' AND message_count IS NULL OR event IN ('returned', 'unroutable', 'destroyed')) AS own_doubts,
         count(*) FILTER (WHERE event IN ('gap', 'protocol-error', 'unconfirmed', 'destroyed') OR event = 'connection-opened' AND certainty <> 'exact'
                             OR event = 'connection-lost' AND certainty = 'unknown' OR event = 'published' AND queue IS NULL OR event = 'returned' AND (answers IS NULL OR queue IS NULL)
                             OR event = 'delivered' AND (queue IS NULL OR settles IS NULL) OR event IN ('settled', 'confirmed') AND answers IS NULL
                             OR event = 'settled' AND outcome = 'rejected' OR event = 'confirmed' AND outcome <> 'accepted'
                             OR event = 'waiting' AND settles IS NULL AND (answers IS NOT NULL OR request LIKE 'queue.%')) AS doubts
  FROM events
  GROUP BY GROUPING SETS ((virtual_host, queue, message_id, content), (virtual_host, queue))
), balances AS (
  SELECT loops.*, published - acknowledged - purged AS backlog, CAST(sum(CASE WHEN is_queue = 1 THEN doubts ELSE 0 END) OVER () AS BIGINT) AS all_doubts
  FROM loops
  WHERE is_queue = 1 OR redeliveries >= 10 * copies AND returns >= 10 AND coalesce(message_id, CAST(content AS STRING)) IS NOT NULL
)
SELECT severity, finding, connection_name, virtual_host, queue, exchange, reply_code, text, count, messages, connections, first_event, last_event, certainty
FROM (
  SELECT CASE WHEN finding = 'many short connections' OR finding = 'lost without a close' THEN 3 ELSE 1 END AS severity,
         finding, CASE WHEN min(connection_name) = max(connection_name) THEN max(connection_name) END AS connection_name,
         CASE WHEN min(virtual_host) = max(virtual_host) THEN max(virtual_host) END AS virtual_host,
         CASE WHEN min(queue) = max(queue) THEN max(queue) END AS queue, CAST(NULL AS STRING) AS exchange, max(CASE WHEN finding <> 'many short connections' THEN reply_code END) AS reply_code,
         CASE WHEN finding = 'heartbeat missed' THEN 'the ' || silent || ' was silent for ' || CAST(CAST(floor(max(silence_us) / 1000) AS BIGINT) AS STRING) || ' ms, the heartbeat is ' || CAST(max(heartbeat_s) AS STRING) || ' s'
              WHEN finding = 'many short connections' THEN 'each open for less than 2 s'
              WHEN finding IN ('lost with unsettled messages', 'lost with unconfirmed publishes') THEN 'TCP ended without a close: ' || max(text)
              WHEN finding <> 'lost without a close' THEN max(text) END AS text,
         count(*) AS count, CAST(sum(requeued + unconfirmed) AS BIGINT) AS messages, count(*) AS connections,
         min(ended_at) AS first_event, max(ended_at) AS last_event,
         max(CASE WHEN finding = 'lost without a close' AND doubts > 0 THEN 'unknown'
                WHEN doubts > 0 AND requeued + unconfirmed > 0 THEN greatest('inferred', certainty) ELSE certainty END) AS certainty
  FROM ended
  WHERE finding IS NOT NULL
  GROUP BY finding, CASE WHEN finding = 'many short connections' THEN translate(connection_name, '0123456789', '')
                         WHEN finding <> 'lost without a close' THEN connection_name END,
           CASE WHEN finding <> 'lost without a close' THEN virtual_host END, CASE WHEN finding <> 'many short connections' THEN reply_code END, silent
  UNION ALL
  SELECT CASE WHEN finding IN ('channel closed with an error', 'link closed with an error', 'publishes nacked', 'messages lost in silence', 'request without an answer') THEN 1 WHEN finding = 'recording incomplete' THEN 4 ELSE 2 END AS severity,
         finding, connection_name, virtual_host, queue, exchange, reply_code,
         CASE WHEN finding = 'slow work' THEN 'half of them took ' || CAST(CAST(floor(half_us / 1000) AS BIGINT) AS STRING) || ' ms or longer'
                                               || CASE WHEN half_us > 20 * middle_us THEN ', elsewhere ' || CAST(CAST(floor(middle_us / 1000) AS BIGINT) AS STRING) || ' ms' ELSE '' END
              WHEN finding = 'deliveries not settled' THEN 'the oldest waits for ' || CAST(CAST(floor(longest_us / 1000000) AS BIGINT) AS STRING) || ' s'
              WHEN finding = 'request without an answer' THEN text || ' waits for ' || CAST(CAST(floor(longest_us / 1000000) AS BIGINT) AS STRING) || ' s'
              ELSE text END AS text,
         count, CAST(NULL AS BIGINT) AS messages, connections, first_event, last_event,
         CASE WHEN finding = 'malformed frames' AND is_incomplete = 1 THEN greatest('inferred', certainty) ELSE certainty END AS certainty
  FROM compared
  WHERE CASE finding WHEN 'slow work' THEN count >= 10 AND (half_us > 500000 AND half_us > 20 * middle_us OR half_us > 5000000 AND ranks < 3)
                     WHEN 'deliveries not settled' THEN longest_us > 60000000 AND longest_us > 20 * coalesce(work_us, 0)
                     WHEN 'request without an answer' THEN longest_us > 10000000
                     ELSE true END
  UNION ALL
  SELECT CASE WHEN is_queue = 1 THEN 2 ELSE 1 END AS severity, CASE WHEN is_queue = 1 THEN 'backlog' ELSE 'poison message' END AS finding,
         CASE WHEN is_queue = 0 THEN max(connection_name) END AS connection_name, virtual_host, queue, CAST(NULL AS STRING) AS exchange,
         CASE WHEN is_queue = 0 THEN max(reply_code) END AS reply_code,
         CASE WHEN is_queue = 1 THEN 'of ' || CAST(max(published) AS STRING) || ' messages, ' || CAST(max(delivered) AS STRING) || ' deliveries'
              ELSE 'redelivered up to ' || CAST(max(redeliveries) AS STRING) || ' times in the recording' || coalesce(', such as ' || max(message_id), '') END AS text,
         CASE WHEN is_queue = 1 THEN max(backlog) ELSE count(*) END AS count, CASE WHEN is_queue = 1 THEN max(backlog) ELSE count(*) END AS messages,
         CASE WHEN is_queue = 0 THEN count(DISTINCT connection_name) END AS connections, min(first_event) AS first_event, max(last_event) AS last_event,
         CASE WHEN is_queue = 1 THEN greatest('inferred', max(certainty)) ELSE max(certainty) END AS certainty
  FROM balances
  WHERE is_queue = 0 OR queue IS NOT NULL AND backlog >= 10 AND 10 * backlog >= published AND all_doubts = 0 AND own_doubts = 0
                        AND delivered = acknowledged + back AND published >= delivered - redeliveries AND declared_us = empty_us AND declared_us <= used_us
  GROUP BY is_queue, virtual_host, queue
) AS findings
ORDER BY severity, first_event NULLS LAST, finding, connection_name NULLS LAST, virtual_host NULLS LAST, queue NULLS LAST, exchange NULLS LAST, reply_code NULLS LAST, text NULLS LAST
