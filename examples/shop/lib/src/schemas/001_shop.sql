-- Ids and the two times are kept by the server; `password` can be written and never read.
CREATE TABLE users (
  id         TEXT PRIMARY KEY,
  email      TEXT NOT NULL,
  password   TEXT,
  name       TEXT NOT NULL DEFAULT '' CHECK (length(name) <= 100),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

-- Admins. Nobody can sign up here: `zonai admin add` makes them.
CREATE TABLE staff (
  id         TEXT PRIMARY KEY,
  email      TEXT NOT NULL,
  password   TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE items (
  id         TEXT PRIMARY KEY,
  seller     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name       TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  cents      INTEGER NOT NULL CHECK (cents >= 0),
  stock      INTEGER NOT NULL DEFAULT 0 CHECK (stock BETWEEN 0 AND 100),
  reserved   INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE orders (
  id         TEXT PRIMARY KEY,
  buyer      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  item       TEXT NOT NULL REFERENCES items (id),
  pieces     INTEGER NOT NULL DEFAULT 1 CHECK (pieces BETWEEN 1 AND 10),
  sent       INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX items_by_seller ON items (seller);
CREATE INDEX orders_by_buyer ON orders (buyer);
CREATE INDEX orders_by_item ON orders (item);
