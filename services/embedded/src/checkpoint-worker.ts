import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Worker thread with a separate connection. Runs a checkpoint for each message, and replies with the error, if any. */
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
