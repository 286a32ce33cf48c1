import { serveCommands } from '../lib/worker.ts';
import { closedLoop, openLoop } from './arrivals.ts';
import { askForChannels } from './channels.ts';
import { createHops } from './hops.ts';
import { createSender, UnexpectedStatus } from './http.ts';
import { startReceiver } from './receiver.ts';

/** The target of creates; the baseline serves the same path and accepts the same token. */
export interface CreateTarget {
  readonly origin: string;
  readonly token: string;
  readonly applicationId: string;
  readonly deviceIds: readonly string[];
}

/** A command as an integrator sends it. */
const command = JSON.stringify({
  package: 'com.example.app',
  launchType: 'activity',
  extras: { greeting: 'hello', count: 3, precise: 1.5 },
});

/** A job without its callback after this time is lost; milliseconds. */
const lostAfterMs = 20_000;

const receiver = await startReceiver();

function creator(target: CreateTarget, connections: number) {
  const sender = createSender(target.origin, connections, { authorization: `Bearer ${target.token}` });
  const paths = target.deviceIds.map(
    (id) => `/v1/applications/${target.applicationId}/devices/${id}/commands`,
  );
  return {
    create: async (i: number): Promise<number> =>
      JSON.parse(await sender.send('PUT', paths[i % paths.length] as string, 201, command)).transactionId,
    close: () => sender.close(),
  };
}

async function ended(transactionId: number, afterMs = lostAfterMs): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, reject) => {
    const error = new Error(`no verified callback of transaction ${transactionId}`);
    timer = setTimeout(() => reject(error), afterMs);
  });
  await Promise.race([receiver.processed(transactionId), lost]);
  clearTimeout(timer);
}

const commands = {
  /** The address at which this process receives callbacks. */
  receiver: async () => receiver.url,

  addKey: async (key: string) => {
    receiver.keys.push(key);
  },

  /** Waits for the processed callbacks of transactions. */
  ended: async (o: { transactionIds: readonly number[]; withinSeconds?: number }) => {
    await Promise.all(o.transactionIds.map((id) => ended(id, o.withinSeconds && 1000 * o.withinSeconds)));
  },

  /** Measure 1: calls until the time is over. */
  create: async (o: { target: CreateTarget; callers: number; seconds: number }) => {
    const { create, close } = creator(o.target, o.callers);
    const result = await closedLoop(o.callers, o.seconds, create);
    await close();
    return result;
  },

  /** Creates at a fixed rate; returns each one's milliseconds, in ascending order. */
  creates: async (o: { target: CreateTarget; perSecond: number; seconds: number }) => {
    const { create, close } = creator(o.target, 64);
    const times = await openLoop(o.perSecond, o.seconds, create);
    await close();
    return times;
  },

  /** The same for a client that ignores its limit; returns the numbers of 201 and 429 answers. */
  flood: async (o: { target: CreateTarget; perSecond: number; seconds: number }) => {
    const { create, close } = creator(o.target, 64);
    const counts = { 201: 0, 429: 0 };
    await openLoop(o.perSecond, o.seconds, async (i) => {
      try {
        await create(i);
        counts[201] += 1;
      } catch (error) {
        if (!(error instanceof UnexpectedStatus && error.status === 429)) throw error;
        counts[429] += 1;
      }
    });
    await close();
    return counts;
  },

  /** Measure 2: each job from its call to its verified callback. */
  jobs: async (o: { target: CreateTarget; callers: number; seconds: number }) => {
    const { create, close } = creator(o.target, o.callers);
    const result = await closedLoop(o.callers, o.seconds, async (i) => ended(await create(i)));
    await close();
    return result;
  },

  /**
   * Sends a command to each device once, with this many callers, without waiting for results; returns the seconds until
   * all verified callbacks have arrived.
   */
  eachOnce: async (o: { target: CreateTarget; callers: number; withinSeconds: number }) => {
    const { create, close } = creator(o.target, o.callers);
    const began = performance.now();
    const results: Promise<void>[] = [];
    let next = 0;
    const caller = async () => {
      while (next < o.target.deviceIds.length) {
        const result = ended(await create(next++), o.withinSeconds * 1000);
        // The failure is reported below.
        result.catch(() => {});
        results.push(result);
      }
    };
    await Promise.all(Array.from({ length: o.callers }, caller));
    await Promise.all(results);
    await close();
    return (performance.now() - began) / 1000;
  },

  /** Baseline of measure 2: the three steps of a job over HTTP. */
  baselineJobs: async (o: { origin: string; callers: number; seconds: number }) => {
    const sender = createSender(o.origin, o.callers);
    const result = await closedLoop(o.callers, o.seconds, async () => {
      const { id } = JSON.parse(await sender.send('PUT', '/jobs', 201, command));
      await sender.send('GET', `/jobs/${id}`, 200);
      await sender.send('POST', `/jobs/${id}/report`, 204, '{"success":true,"message":"called"}');
    });
    await sender.close();
    return result;
  },

  /** Measure 3: jobs at a fixed rate; returns each one's milliseconds, in ascending order. */
  openJobs: async (o: { target: CreateTarget; perSecond: number; seconds: number }) => {
    const { create, close } = creator(o.target, 64);
    const times = await openLoop(o.perSecond, o.seconds, async (i) => ended(await create(i)));
    await close();
    return times;
  },

  /** Baseline of measure 3: a job's bare hops one after the other, at the same rate. */
  openHops: async (o: { origin: string; grpc: string; perSecond: number; seconds: number }) => {
    const hops = createHops(o);
    const times = await openLoop(o.perSecond, o.seconds, () => hops.all(command));
    await hops.close();
    return times;
  },

  /** Requests channels from the platform or the baseline; returns each call's milliseconds, in ascending order. */
  channels: askForChannels,

  /** Counts that must be zero when all jobs are done. */
  leftOver: async () => ({ halves: receiver.halves(), refused: receiver.refused }),
  taken: async () => receiver.taken,
  reports: async () => receiver.reports,
};
export type Load = typeof commands;
serveCommands(commands);
