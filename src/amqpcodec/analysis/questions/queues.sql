-- columns: connection_name, virtual_host, event, outcome, answers, initiator, certainty, exchange, routing_key, queue, route, consumer_tag, settles, redelivered, request, message_id, content, message_count, elapsed_us, time_us
-- A row a queue, or a consumer whose queue is unknown: what came in and went out, what is left, how long messages waited and took.
WITH counts AS (
  SELECT virtual_host, queue, CASE WHEN queue IS NULL THEN connection_name END AS connection_name, CASE WHEN queue IS NULL THEN consumer_tag END AS consumer_tag,
         count(*) FILTER (WHERE event = 'published') AS published,
         count(*) FILTER (WHERE event IN ('returned', 'unroutable', 'destroyed') AND answers IS NOT NULL) AS dropped,
         count(*) FILTER (WHERE event = 'delivered') AS delivered,
         count(*) FILTER (WHERE event = 'delivered' AND redelivered) AS redelivered,
         count(redelivered) FILTER (WHERE event = 'delivered') AS with_redelivered,
         count(*) FILTER (WHERE event = 'delivered' AND settles = 'automatic') AS automatic,
         count(*) FILTER (WHERE event = 'delivered' AND settles IS NOT NULL OR event IN ('settled', 'requeued')) AS with_ends,
         count(*) FILTER (WHERE event = 'settled' AND outcome = 'accepted' AND answers IS NOT NULL) AS accepted,
         count(*) FILTER (WHERE event = 'settled' AND outcome = 'rejected' AND answers IS NOT NULL) AS rejected,
         count(*) FILTER (WHERE event = 'settled' AND outcome IN ('released', 'modified') AND answers IS NOT NULL) AS released,
         count(*) FILTER (WHERE event = 'settled' AND outcome IS NULL AND answers IS NOT NULL) AS without_outcome,
         count(*) FILTER (WHERE event = 'requeued') AS requeued,
         count(*) FILTER (WHERE event = 'waiting' AND settles = 'manual' AND answers IS NOT NULL) AS waiting,
         count(*) FILTER (WHERE event = 'consumer-started') AS consumers_started,
         count(*) FILTER (WHERE event = 'consumer-cancelled') AS consumers_ended,
         count(*) FILTER (WHERE event = 'deleted') AS deleted,
         CAST(coalesce(sum(CASE WHEN event = 'purged' THEN message_count END), 0) AS BIGINT) AS purged,
         count(*) FILTER (WHERE event = 'purged' AND message_count IS NULL) AS purged_unknown,
         min(CASE WHEN event = 'declared' THEN time_us END) AS declared_us,
         min(CASE WHEN event = 'declared' AND message_count = 0 AND certainty = 'exact' THEN time_us END) AS empty_us,
         min(CASE WHEN event IN ('published', 'delivered', 'bound') THEN time_us END) AS used_us,
         max(CASE WHEN event = 'delivered' THEN certainty END) AS certainty,
         CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY CASE WHEN event = 'settled' AND initiator <> 'server' THEN elapsed_us END) AS DOUBLE) / 1000 AS work_p50_ms,
         CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY CASE WHEN event = 'settled' AND initiator <> 'server' THEN elapsed_us END) AS DOUBLE) / 1000 AS work_p99_ms,
         count(*) FILTER (WHERE event = 'published' AND route IS NULL) AS unrouted,
         count(*) FILTER (WHERE event = 'published' AND route IS NOT NULL AND certainty = 'inferred') AS guessed,
         count(*) FILTER (WHERE event IN ('gap', 'protocol-error') OR event = 'connection-opened' AND certainty <> 'exact'
                             OR event = 'connection-lost' AND certainty = 'unknown') AS gaps,
         count(*) FILTER (WHERE event = 'delivered' AND (queue IS NULL OR settles IS NULL) OR event IN ('settled', 'confirmed') AND answers IS NULL
                             OR event IN ('settled', 'confirmed') AND outcome = 'rejected' OR event = 'confirmed' AND outcome <> 'accepted' OR event IN ('unconfirmed', 'destroyed')
                             OR event = 'returned' AND (answers IS NULL OR queue IS NULL)
                             OR event = 'waiting' AND settles IS NULL AND (answers IS NOT NULL OR request LIKE 'queue.%')) AS doubts
  FROM events
  GROUP BY virtual_host, queue, CASE WHEN queue IS NULL THEN connection_name END, CASE WHEN queue IS NULL THEN consumer_tag END
), routed AS (
  SELECT virtual_host, route, count(*) AS messages
  FROM events
  WHERE event = 'published' AND queue IS NULL AND route IS NOT NULL
  GROUP BY virtual_host, route
), totals AS (
  SELECT counts.*, delivered = 0 OR with_ends > 0 AS ends_known, CAST(sum(unrouted) OVER () AS BIGINT) AS all_unrouted, CAST(sum(guessed) OVER () AS BIGINT) AS all_guessed, CAST(sum(gaps) OVER () AS BIGINT) AS all_gaps, CAST(sum(doubts) OVER () AS BIGINT) AS all_doubts
  FROM counts
), named AS (
  SELECT event, virtual_host, exchange, routing_key, queue, time_us, coalesce(message_id, CAST(content AS STRING)) AS message
  FROM events
  WHERE (event = 'published' OR event = 'delivered' AND NOT redelivered) AND coalesce(message_id, CAST(content AS STRING)) IS NOT NULL
), waits AS (
  SELECT d.virtual_host, d.queue,
         CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY d.time_us - p.published_us) AS DOUBLE) / 1000 AS wait_p50_ms,
         CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY d.time_us - p.published_us) AS DOUBLE) / 1000 AS wait_p99_ms
  FROM (
    SELECT exchange, routing_key, message, virtual_host, queue, max(time_us) AS time_us
    FROM named
    WHERE event = 'delivered' AND queue IS NOT NULL
    GROUP BY exchange, routing_key, message, virtual_host, queue
    HAVING count(*) = 1
  ) d JOIN (
    SELECT exchange, routing_key, message, max(time_us) AS published_us
    FROM named
    WHERE event = 'published'
    GROUP BY exchange, routing_key, message
    HAVING count(*) = 1
  ) p ON p.message = d.message AND p.exchange IS NOT DISTINCT FROM d.exchange AND p.routing_key IS NOT DISTINCT FROM d.routing_key
  WHERE d.time_us >= p.published_us
  GROUP BY d.virtual_host, d.queue
)
SELECT t.virtual_host, t.queue, t.connection_name, t.consumer_tag,
       CASE WHEN t.queue IS NOT NULL AND t.all_unrouted = 0 AND (t.all_guessed = 0 OR t.all_gaps = 0) THEN t.published + t.routed END AS published,
       t.delivered, CASE WHEN t.delivered = 0 OR t.with_redelivered > 0 THEN t.redelivered END AS redelivered,
       CASE WHEN t.ends_known THEN t.accepted + t.automatic END AS acknowledged, CASE WHEN t.ends_known THEN t.rejected END AS rejected,
       CASE WHEN t.ends_known THEN t.released END AS released, CASE WHEN t.ends_known THEN t.requeued END AS requeued,
       CASE WHEN t.ends_known THEN t.waiting END AS waiting,
       CASE WHEN t.all_gaps = 0 AND t.delivered = t.automatic + t.accepted + t.rejected + t.released + t.without_outcome + t.requeued + t.waiting THEN t.waiting END AS unacknowledged,
       CASE WHEN t.all_gaps = 0 AND t.all_doubts = 0 AND t.all_unrouted = 0 AND t.deleted = 0 AND t.purged_unknown = 0
             AND t.delivered = t.automatic + t.accepted + t.rejected + t.released + t.requeued + t.waiting
             AND t.declared_us = t.empty_us AND (t.used_us IS NULL OR t.declared_us <= t.used_us)
             AND t.published + t.routed - t.dropped >= t.accepted + t.automatic + t.purged
             AND t.published + t.routed - t.dropped >= t.delivered - t.redelivered
            THEN t.published + t.routed - t.dropped - t.accepted - t.automatic - t.purged END AS backlog,
       CASE WHEN t.queue IS NOT NULL THEN t.consumers_started END AS consumers_started,
       CASE WHEN t.queue IS NOT NULL THEN t.consumers_ended END AS consumers_ended,
       w.wait_p50_ms, w.wait_p99_ms, t.work_p50_ms, t.work_p99_ms, t.certainty
FROM (
  SELECT totals.*, CAST(coalesce(sum(r.messages) OVER (PARTITION BY totals.virtual_host, totals.queue, totals.connection_name, totals.consumer_tag), 0) AS BIGINT) AS routed,
         row_number() OVER (PARTITION BY totals.virtual_host, totals.queue, totals.connection_name, totals.consumer_tag ORDER BY r.route NULLS LAST) AS turn
  FROM totals LEFT JOIN routed r ON totals.virtual_host IS NOT DISTINCT FROM r.virtual_host AND array_contains(r.route, totals.queue)
) t LEFT JOIN waits w ON w.queue = t.queue AND w.virtual_host IS NOT DISTINCT FROM t.virtual_host
WHERE t.turn = 1 AND (t.queue IS NOT NULL OR t.delivered > 0)
ORDER BY t.delivered DESC, t.virtual_host NULLS LAST, t.queue NULLS LAST, t.connection_name NULLS LAST, t.consumer_tag NULLS LAST
