import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { databaseFile } from '@headset-cloud/embedded/database.ts';
import type { Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startJobsWorld } from './jobs-world.ts';

/** After this time, everything that a job writes is in the database, including positions of the log; milliseconds. */
const settleMs = 1500;
/** Rows that occur less often per job than this do not belong to a job. */
const leastOften = 0.05;

interface Content {
  rows: number;
  bytes: number;
}

/**
 * Data that a job leaves: documents by collection (their BSON), entries of their indexes, and events of the log.
 * Measured on the embedded stack, whose file contains everything; the documents are the same on MongoDB.
 */
export async function measureSize(kind: StackKind, settings: Settings): Promise<Report> {
  if (kind !== 'embedded') {
    return {
      figures: [],
      notes: ['size: documents are those of the embedded stack; no file shows them here.'],
    };
  }
  const jobs = await startJobsWorld(kind, settings);
  try {
    const file = join(jobs.world.dir, databaseFile);
    await jobs.run(16, settings.seconds);
    await pause(settleMs);
    const before = contents(file);
    const { done } = await jobs.run(64, settings.seconds);
    await jobs.nothingLeftOver();
    await pause(settleMs);
    const lines = [...contents(file)].flatMap(([what, { rows, bytes }]) => {
      const earlier = before.get(what) ?? { rows: 0, bytes: 0 };
      const [more, moreBytes] = [(rows - earlier.rows) / done, (bytes - earlier.bytes) / done];
      return more < leastOften
        ? []
        : `  ${more.toFixed(2).padStart(6)} ${moreBytes.toFixed(0).padStart(6)} B  ${what}`;
    });
    return { figures: [], notes: [`data of a job (rows, bytes), from ${done} jobs:\n${lines.join('\n')}`] };
  } finally {
    await jobs.close();
  }
}

/** Rows and bytes by collection, by the indexes of each, and of the log. */
function contents(file: string): Map<string, Content> {
  const sql = new DatabaseSync(file, { readOnly: true });
  try {
    const found = new Map<string, Content>();
    const add = (what: string, table: string, column: string) => {
      const count = sql.prepare(
        `SELECT count(*) AS rows, coalesce(sum(length(${column})), 0) AS bytes FROM ${table}`,
      );
      const { rows, bytes } = count.get() as unknown as Content;
      const sum = found.get(what) ?? { rows: 0, bytes: 0 };
      found.set(what, { rows: sum.rows + rows, bytes: sum.bytes + bytes });
    };
    for (const { number, namespace } of all(sql, 'SELECT number, namespace FROM store_collections')) {
      add(`documents of ${namespace}`, `documents_${number}`, 'document');
      add(`entries of the index of _id of ${namespace}`, `documents_${number}`, 'id');
      const indexes = all(sql, `SELECT number FROM store_indexes WHERE collection = ${number}`);
      for (const index of indexes)
        add(`entries of the indexes of ${namespace}`, `index_${index['number']}`, 'entry');
    }
    for (const { id, name } of all(sql, 'SELECT id, name FROM log_topics')) {
      add(`events of ${name}`, `log_events_${id}`, 'value');
    }
    return found;
  } finally {
    sql.close();
  }
}

function all(sql: DatabaseSync, query: string): Record<string, unknown>[] {
  return sql.prepare(query).all() as Record<string, unknown>[];
}
