import type { EmbeddedDatabase } from '../database.ts';

/** Returns a write that succeeds but makes the commit of its transaction fail. */
export function failingCommits(db: EmbeddedDatabase): () => Promise<unknown> {
  db.sql.exec(`
    PRAGMA foreign_keys = ON;
    CREATE TABLE things (id INTEGER PRIMARY KEY);
    CREATE TABLE children (thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);
  `);
  return () => db.write(() => db.sql.exec('INSERT INTO children VALUES (99)'));
}
