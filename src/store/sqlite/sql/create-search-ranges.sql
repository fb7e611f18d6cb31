CREATE TABLE search_ranges (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  first INTEGER NOT NULL,
  next INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (session, first)
) STRICT
