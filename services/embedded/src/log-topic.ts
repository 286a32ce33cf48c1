import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogEvent, OutgoingEvent } from '@headset-cloud/eventlog/types.ts';

/**
 * Creates the tables of the embedded log that list topics and groups. The events of each topic are in a separate table.
 * Call in a write.
 */
export function createLogTables(sql: DatabaseSync): void {
  sql.exec(`
    CREATE TABLE IF NOT EXISTS log_topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS log_groups (
      topic INTEGER NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (topic, name)
    ) WITHOUT ROWID;
  `);
  // Release 0.1.0 creates the table without this column, and does not write it.
  const columns = sql.prepare('PRAGMA table_info(log_groups)').all();
  if (columns.some((column) => column['name'] === 'subscribed_at')) return;
  sql.exec('ALTER TABLE log_groups ADD COLUMN subscribed_at INTEGER');
}

/** A consumer group as it is stored. */
export interface StoredGroup {
  readonly name: string;
  /** Offset of the last event that it has handled. */
  readonly position: number;
  /** When the group was last subscribed, milliseconds since 1970; null: unknown. */
  readonly subscribedAtMs: number | null;
}

/** Maximum number of recent events in memory, per topic: groups usually read the newest events. */
const maxTail = 1024;
const maxTailBytes = 2 * 1024 * 1024;

interface Row {
  readonly offset: number;
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: string | null;
  readonly timestamp: number;
}

/**
 * One topic of the embedded log: its table and prepared statements. Offsets begin with 1 and rise by one. SQLite
 * gives a new row the largest stored offset plus one. The newest event is therefore never deleted: otherwise a later
 * event would get an offset that groups have already handled, and they would skip the event.
 */
export class LogTopic {
  readonly id: number;
  readonly name: string;
  /** Called after events were committed. Each group has one listener, which wakes it. */
  readonly listeners = new Set<() => void>();
  #committed: number;
  /** The newest committed events; the last one has the offset `#committed`, and offsets have no gaps. */
  #tail: LogEvent[] = [];
  #tailBytes = 0;
  readonly #insert: StatementSync;
  readonly #read: StatementSync;
  readonly #newest: StatementSync;
  readonly #first: StatementSync;
  readonly #groups: StatementSync;
  readonly #saveGroup: StatementSync;
  readonly #deleteGroup: StatementSync;
  readonly #trim: StatementSync;

  /** Opens the topic, creating it when it is missing; call it inside a write of the database. */
  constructor(sql: DatabaseSync, name: string) {
    sql.prepare('INSERT OR IGNORE INTO log_topics (name) VALUES (?)').run(name);
    this.id = Number(sql.prepare('SELECT id FROM log_topics WHERE name = ?').get(name)?.['id']);
    this.name = name;
    const table = `log_events_${this.id}`;
    sql.exec(`CREATE TABLE IF NOT EXISTS ${table} (
      offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB NOT NULL, headers TEXT, timestamp INTEGER NOT NULL
    )`);
    this.#insert = sql.prepare(`INSERT INTO ${table} (key, value, headers, timestamp) VALUES (?, ?, ?, ?)`);
    this.#read = sql.prepare(
      `SELECT * FROM ${table} WHERE offset > ? AND offset <= ? ORDER BY offset LIMIT ?`,
    );
    this.#newest = sql.prepare(`SELECT * FROM ${table} WHERE offset <= ? ORDER BY offset DESC LIMIT ?`);
    this.#first = sql.prepare(`SELECT MIN(offset) AS offset FROM ${table}`);
    this.#groups = sql.prepare('SELECT name, position, subscribed_at FROM log_groups WHERE topic = ?');
    this.#saveGroup = sql.prepare(`
      INSERT INTO log_groups (topic, name, position, subscribed_at) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET position = excluded.position, subscribed_at = excluded.subscribed_at`);
    this.#deleteGroup = sql.prepare('DELETE FROM log_groups WHERE topic = ? AND name = ?');
    this.#trim = sql.prepare(`DELETE FROM ${table} WHERE timestamp < ?1 AND offset IN (
      SELECT offset FROM ${table} WHERE offset < ?2 ORDER BY offset LIMIT ?3)`);
    this.#committed = Number(
      sql.prepare(`SELECT MAX(offset) AS offset FROM ${table}`).get()?.['offset'] ?? 0,
    );
  }

  /** The newest committed offset. Later events may still be undone and must not be delivered. */
  get committed(): number {
    return this.#committed;
  }

  /**
   * Inserts events and returns them in the form in which groups read them. Call in a write. After the commit, call
   * `advance` with the returned events.
   */
  append(events: readonly OutgoingEvent[], timestampMs: number): LogEvent[] {
    return events.map(({ key, value, headers = {} }) => {
      const text = Object.keys(headers).length > 0 ? JSON.stringify(headers) : null;
      const offset = this.#insert.run(key, value, text, timestampMs).lastInsertRowid;
      // SQLite returns a Uint8Array, so handlers must not get a Buffer here either.
      const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      return { topic: this.name, key, value: bytes, headers, position: `0:${offset}`, timestampMs };
    });
  }

  /** Makes appended events readable after their commit, and notifies the groups. */
  advance(events: readonly LogEvent[]): void {
    const last = offsetOf(events[events.length - 1] as LogEvent);
    if (last <= this.#committed) return;
    // Offsets in memory are calculated backwards from the newest event, so a gap would make them wrong.
    if (offsetOf(events[0] as LogEvent) !== this.#committed + 1) this.#clearTail();
    this.#committed = last;
    for (const event of events) {
      this.#tail.push(event);
      this.#tailBytes += event.value.byteLength;
    }
    if (this.#tailBytes > maxTailBytes) this.#clearTail();
    else if (this.#tail.length > 2 * maxTail) this.#shortenTail();
    for (const listener of this.listeners) listener();
  }

  /** Committed events after an offset, oldest first. */
  read(after: number, limit: number): { offset: number; event: LogEvent }[] {
    const skipped = after - (this.#committed - this.#tail.length);
    if (skipped >= 0) {
      return this.#tail.slice(skipped, skipped + limit).map((event, i) => ({ offset: after + 1 + i, event }));
    }
    const rows = this.#read.all(after, this.#committed, limit) as unknown as Row[];
    return rows.map((row) => ({ offset: row.offset, event: this.#event(row) }));
  }

  /** The newest committed events, oldest first. */
  readNewest(limit: number): LogEvent[] {
    const rows = this.#newest.all(this.#committed, limit) as unknown as Row[];
    return rows.reverse().map((row) => this.#event(row));
  }

  /** Offset before the oldest stored event. */
  start(): number {
    const first = this.#first.get()?.['offset'];
    return first === null || first === undefined ? this.#committed : Number(first) - 1;
  }

  groups(): StoredGroup[] {
    return this.#groups.all(this.id).map((row) => ({
      name: String(row['name']),
      position: Number(row['position']),
      subscribedAtMs: row['subscribed_at'] === null ? null : Number(row['subscribed_at']),
    }));
  }

  /** A group's stored position: the offset of the last event that it has handled. */
  position(group: string): number | undefined {
    return this.groups().find(({ name }) => name === group)?.position;
  }

  /** Stores a group, in a write. */
  saveGroup({ name, position, subscribedAtMs }: StoredGroup): void {
    this.#saveGroup.run(this.id, name, position, subscribedAtMs);
  }

  /** Deletes a group, in a write. If it is subscribed again, it begins with the oldest event. */
  deleteGroup(name: string): void {
    this.#deleteGroup.run(this.id, name);
  }

  /**
   * Deletes, in a write, up to `limit` of the oldest events that were published before `beforeMs` and
   * that every group has handled. Returns the number of deleted events.
   */
  trim(beforeMs: number, limit: number): number {
    const handledByAll = Math.min(this.#committed - 1, ...this.groups().map(({ position }) => position));
    return Number(this.#trim.run(beforeMs, handledByAll + 1, limit).changes);
  }

  #shortenTail(): void {
    this.#tail = this.#tail.slice(-maxTail);
    this.#tailBytes = this.#tail.reduce((sum, event) => sum + event.value.byteLength, 0);
  }

  #clearTail(): void {
    this.#tail = [];
    this.#tailBytes = 0;
  }

  #event(row: Row): LogEvent {
    return {
      topic: this.name,
      key: row.key,
      value: row.value,
      headers: row.headers === null ? {} : JSON.parse(row.headers),
      position: `0:${row.offset}`,
      timestampMs: row.timestamp,
    };
  }
}

function offsetOf({ position }: LogEvent): number {
  return Number(position.slice(position.indexOf(':') + 1));
}
