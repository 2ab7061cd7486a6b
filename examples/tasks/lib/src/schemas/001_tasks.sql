-- Ids and the two times are kept by the server.
CREATE TABLE tasks (
  id         TEXT PRIMARY KEY,
  title      TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  done       INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
  priority   INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE notes (
  id         TEXT PRIMARY KEY,
  task       TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  text       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX notes_by_task ON notes (task);
