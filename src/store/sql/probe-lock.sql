SELECT count(*) AS objects FROM sqlite_schema
