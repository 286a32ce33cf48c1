import type { EmbeddedDatabase } from '../database.ts';

/** Answers a write that succeeds, and whose transaction then cannot be committed. */
export function failingCommits(db: EmbeddedDatabase): () => Promise<unknown> {
  db.sql.exec(`
    PRAGMA foreign_keys = ON;
    CREATE TABLE things (id INTEGER PRIMARY KEY);
    CREATE TABLE children (thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);
  `);
  return () => db.write(() => db.sql.exec('INSERT INTO children VALUES (99)'));
}
