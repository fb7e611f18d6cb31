INSERT INTO search_text (rowid, terms) VALUES ($id, $terms)
