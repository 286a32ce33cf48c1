import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** A thread with a connection of its own: carries the write-ahead log's pages into the database file. */
const sql = new DatabaseSync(workerData as string, { timeout: 500 });

parentPort?.on('message', () => {
  let failure: string | undefined;
  try {
    sql.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    failure = (error as Error).message;
  }
  parentPort?.postMessage(failure);
});
