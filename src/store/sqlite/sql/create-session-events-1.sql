CREATE VIEW session_events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable) AS
SELECT
  s.header ->> '$.id',
  r.seq,
  r.type,
  r.time,
  r.body -> '$.data',
  CASE WHEN r.sources IS NULL THEN r.body -> '$.sourceEventSeqs' ELSE (
    WITH RECURSIVE seqs (seq, last) AS (
      SELECT range.value ->> 0, range.value ->> 1 FROM json_each(r.sources) AS range
      UNION ALL
      SELECT seq + 1, last FROM seqs WHERE seq < last
    )
    SELECT json_group_array(seq) FROM (SELECT seq FROM seqs ORDER BY seq)
  ) END,
  r.body -> '$.surfaceOp',
  r.body -> '$.ignorable'
FROM records AS r
JOIN sessions AS s ON s.number = r.session
WHERE r.type NOT IN ('text-chunks', 'reasoning-chunks', 'tool-call-chunks')
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
WHERE r.type IN ('text-chunks', 'reasoning-chunks', 'tool-call-chunks')
