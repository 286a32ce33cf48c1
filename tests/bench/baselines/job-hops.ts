import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import Koa from 'koa';
import { serveCommands } from '../lib/worker.ts';
import { createSender } from '../load/http.ts';
import { type Send, serveHeadsets } from './headsets.ts';
import { listen, readText } from './http.ts';
import { type BaselineStore, openBaselineStore } from './store.ts';

/**
 * The cost of a job's hops alone: one process that receives the call (bare Koa), exchanges the same messages
 * with the same simulated headsets (bare grpc-js) and POSTs both signed callbacks (undici). It checks no
 * token, stores nothing and keeps no order, so no platform with these hops can be faster on the same machine.
 * With a store (baseline 2) it makes the three durable writes that every job needs: the transaction before the
 * 201, its acceptance before `start`, its end before `reportAck`.
 */
let streams: readonly Send[] = [];

interface Job {
  readonly _id: number;
  readonly status: 'created' | 'accepted' | 'processed';
  readonly package: string;
  readonly extrasJson: string;
}

/** Opens the three writes, each conditional on the previous one; they resolve when they are durable. */
async function openJobs(options: BaselineStore) {
  const store = await openBaselineStore(options);
  const jobs = store.database('job-hops').collection<Job>('jobs');
  const move = async (_id: number, from: Job['status'], to: Job['status']) => {
    const { matchedCount } = await jobs.updateOne({ _id, status: from }, { $set: { status: to } });
    if (matchedCount !== 1) throw new Error(`job ${_id} is not ${from}`);
  };
  return {
    insert: async (job: Job) => void (await jobs.insertOne(job)),
    accept: (id: number) => move(id, 'created', 'accepted'),
    end: (id: number) => move(id, 'accepted', 'processed'),
  };
}

const commands = {
  start: async (o: { callbacks: string; authenticationKey: string; store?: BaselineStore }) => {
    const jobs = o.store && (await openJobs(o.store));
    const { origin, pathname } = new URL(o.callbacks);
    const sender = createSender(origin, 64);
    const call = (transactionId: number, notificationType: string) => {
      const body = JSON.stringify({
        applicationId: 'bench',
        deviceId: '350000000000001',
        timestamp: Date.now(),
        transactionId,
        operationId: 'put-v1-applications-devices-commands',
        notificationType,
        result: 'success',
        message: 'The device has started the operation.',
      });
      const headers = signatureHeaders({
        notificationId: `tx-${transactionId}-${notificationType}`,
        authenticationKey: o.authenticationKey,
        body: Buffer.from(body),
        timestampSeconds: Math.floor(Date.now() / 1000),
      });
      void sender.send('POST', pathname, 204, body, headers);
    };
    const served = await serveHeadsets(async (body, send) => {
      if (body.case === 'ready') {
        const { transactionId } = body.value;
        await jobs?.accept(Number(transactionId));
        send({ case: 'start', value: { transactionId } });
        call(Number(transactionId), 'accepted');
      } else if (body.case === 'report') {
        const { reportId, body: said } = body.value;
        if (said.case === 'result') await jobs?.end(Number(said.value.transactionId));
        send({ case: 'reportAck', value: { reportId } });
        if (said.case === 'result') call(Number(said.value.transactionId), 'processed');
      }
    });
    streams = served.streams;
    // Above every id from the platform that the same receiver has got.
    let lastId = 2 ** 40;
    const app = new Koa();
    app.use(async (ctx) => {
      const { package: name, extras } = JSON.parse(await readText(ctx.req));
      lastId += 1;
      const id = lastId;
      const extrasJson = JSON.stringify(extras);
      await jobs?.insert({ _id: id, status: 'created', package: name, extrasJson });
      ctx.status = 201;
      ctx.body = { transactionId: id };
      streams[id % streams.length]?.({
        case: 'offer',
        value: {
          transactionId: BigInt(id),
          operationId: 'put-v1-applications-devices-commands',
          activationEpoch: 1n,
          createdAtMs: BigInt(Date.now()),
          operation: {
            kind: { case: 'command', value: { package: name, extrasJson } },
          },
        },
      });
    });
    return { origin: await listen(app.callback()), address: served.address };
  },
  streams: async (_: object) => streams.length,
};
export type JobHops = typeof commands;
serveCommands(commands);
