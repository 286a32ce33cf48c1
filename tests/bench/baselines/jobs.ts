import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import Koa from 'koa';
import { serveCommands } from '../lib/worker.ts';
import { listen, readText } from './http.ts';

/**
 * Baseline of the jobs measure: a bare Koa server that answers the three steps of a job (create, fetch,
 * report) with one insert each: node:sqlite, WAL, synchronous FULL, each insert its own commit.
 */
const commands = {
  start: async ({ directory }: { directory: string }): Promise<string> => {
    const sql = new DatabaseSync(join(directory, 'baseline-jobs.db'));
    sql.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE steps (id INTEGER PRIMARY KEY, job INTEGER, step TEXT NOT NULL, body TEXT NOT NULL);
    `);
    const insert = sql.prepare('INSERT INTO steps (job, step, body) VALUES (?, ?, ?)');
    const app = new Koa();
    app.use(async (ctx) => {
      const [, , id = '', step = 'fetch'] = ctx.path.split('/');
      if (ctx.method === 'PUT') {
        const { lastInsertRowid } = insert.run(null, 'create', await readText(ctx.req));
        ctx.status = 201;
        ctx.body = { id: Number(lastInsertRowid) };
      } else if (ctx.method === 'GET') {
        insert.run(Number(id), step, '');
        ctx.body = { id: Number(id), command: 'call' };
      } else {
        insert.run(Number(id), step, await readText(ctx.req));
        ctx.status = 204;
      }
    });
    return listen(app.callback());
  },
};
export type JobsBaseline = typeof commands;
serveCommands(commands);
