PRAGMA synchronous = OFF
