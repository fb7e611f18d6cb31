SELECT rowid AS id FROM search_text WHERE search_text MATCH $terms
