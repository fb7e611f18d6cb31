CREATE VIEW session_events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable) AS
SELECT
  s.header ->> '$.id',
  r.seq,
  r.type,
  r.time,
  CASE WHEN r.sources -> '$.quoted' IS NULL THEN r.body ELSE (
    WITH quotes (place, at, first, last) AS (
      SELECT quote.key, quote.value ->> 0, quote.value ->> 2, quote.value ->> 3
      FROM json_each(r.sources, '$.quoted') AS quote
    ),
    pieces (place, text) AS (
      SELECT
        place,
        -- What stands in the body before the quote, and then what the deltas say.
        substr(r.body, 1 + lag(at, 1, 0) OVER (ORDER BY place), at - lag(at, 1, 0) OVER (ORDER BY place)) || (
          SELECT group_concat(substr(delta, 2, length(delta) - 2), '')
          FROM (
            SELECT coalesce(
              d.body -> ('$.data.texts[' || member.key || ']'),
              d.body -> ('$.data.args[' || member.key || ']'),
              d.body -> '$.data.chunk.text',
              d.body -> '$.data.chunk.argumentsDelta'
            ) AS delta
            FROM records AS d
            JOIN json_each(coalesce(d.body -> '$.data.texts', d.body -> '$.data.args', '[0]')) AS member
            WHERE d.id BETWEEN (r.session << 32) + quotes.first AND (r.session << 32) + quotes.last
            ORDER BY d.id, member.key
          )
        )
      FROM quotes
      UNION ALL
      SELECT 1 + max(place), substr(r.body, 1 + max(at)) FROM quotes
    )
    SELECT group_concat(text, '') FROM (SELECT text FROM pieces ORDER BY place)
  ) END -> '$.data',
  CASE WHEN r.sources IS NULL OR json_type(r.sources) = 'object' AND r.sources -> '$.cited' IS NULL
  THEN r.body -> '$.sourceEventSeqs' ELSE (
    WITH RECURSIVE seqs (seq, last) AS (
      SELECT range.value ->> 0, range.value ->> 1
      FROM json_each(CASE json_type(r.sources) WHEN 'array' THEN r.sources ELSE r.sources -> '$.cited' END) AS range
      UNION ALL
      SELECT seq + 1, last FROM seqs WHERE seq < last
    )
    SELECT json_group_array(seq) FROM (SELECT seq FROM seqs ORDER BY seq)
  ) END,
  r.body -> '$.surfaceOp',
  r.body -> '$.ignorable'
FROM records AS r
JOIN sessions AS s ON s.number = r.session
WHERE r.frame IS NULL AND r.type NOT IN ('text-chunks', 'reasoning-chunks', 'tool-call-chunks')
UNION ALL
SELECT
  s.header ->> '$.id',
  r.seq + member.key,
  'assistant/chunk',
  r.time + (SELECT coalesce(sum(gap.value), 0) FROM json_each(r.body, '$.data.dt') AS gap WHERE gap.key < member.key),
  json_object(
    'turn', r.body -> '$.data.turn',
    'step', r.body -> '$.data.step',
    'chunk', CASE r.type
      WHEN 'tool-call-chunks' THEN
        CASE WHEN r.body -> '$.data.name' IS NULL THEN
          json_object(
            'type', 'tool-call-delta',
            'index', r.body -> '$.data.index',
            'id', r.body -> '$.data.id',
            'argumentsDelta', json(r.body -> ('$.data.args[' || member.key || ']'))
          )
        ELSE
          json_object(
            'type', 'tool-call-delta',
            'index', r.body -> '$.data.index',
            'id', r.body -> '$.data.id',
            'name', r.body -> '$.data.name',
            'argumentsDelta', json(r.body -> ('$.data.args[' || member.key || ']'))
          )
        END
      ELSE
        json_object(
          'type', CASE r.type WHEN 'text-chunks' THEN 'text-delta' ELSE 'reasoning-delta' END,
          'index', r.body -> '$.data.index',
          'text', json(r.body -> ('$.data.texts[' || member.key || ']'))
        )
    END
  ),
  NULL,
  NULL,
  NULL
FROM records AS r
JOIN sessions AS s ON s.number = r.session
JOIN json_each(r.body, CASE r.type WHEN 'tool-call-chunks' THEN '$.data.args' ELSE '$.data.texts' END) AS member
WHERE r.frame IS NULL AND r.type IN ('text-chunks', 'reasoning-chunks', 'tool-call-chunks')
