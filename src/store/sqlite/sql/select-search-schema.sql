SELECT name, sql FROM sqlite_schema WHERE name IN ('search_ranges', 'search_text')
