CREATE VIRTUAL TABLE search_text USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')
