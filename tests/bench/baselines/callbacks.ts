import { Pool } from 'undici';
import { serveCommands } from '../lib/worker.ts';
import { closedLoop, type Throughput } from '../load/arrivals.ts';
import { type BaselineStore, openBaselineStore } from './store.ts';

/**
 * Baseline of the callbacks measure: a bare undici POST loop with one journalled write for each callback. It
 * has as many requests in flight at each endpoint as the notifier.
 */
interface Sent {
  _id: number;
  path: string;
  atMs: number;
}

const commands = {
  open: async (options: BaselineStore): Promise<void> => {
    const store = (await openBaselineStore(options)).database('callbacks');
    write = (sent) => store.collection<Sent>('sent').insertOne(sent);
  },

  /** Posts to every endpoint until the time is over; returns how many were answered and written. */
  post: async (o: {
    urls: readonly string[];
    seconds: number;
    inFlight: number;
    body: string;
  }): Promise<Throughput> => {
    const pools = o.urls.map((url) => {
      const { origin, pathname } = new URL(url);
      return { pool: new Pool(origin, { connections: o.inFlight, pipelining: 1 }), path: pathname };
    });
    const headers = { 'content-type': 'application/json' };
    const result = await closedLoop(o.urls.length * o.inFlight, o.seconds, async (i) => {
      const { pool, path } = pools[i % pools.length] as (typeof pools)[number];
      const answer = await pool.request({ method: 'POST', path, headers, body: o.body });
      await answer.body.dump();
      lastId += 1;
      await write({ _id: lastId, path, atMs: Date.now() });
    });
    await Promise.all(pools.map(({ pool }) => pool.close()));
    return result;
  },
};
let write: (sent: Sent) => Promise<unknown>;
let lastId = 0;

export type CallbacksBaseline = typeof commands;
serveCommands(commands);
