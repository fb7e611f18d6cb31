SELECT session FROM search_ranges
WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE number = search_ranges.session)
LIMIT 1
