import { signatureHeaders } from '@headset-cloud/notifier/domain/signing.ts';
import Koa from 'koa';
import { serveCommands } from '../lib/worker.ts';
import { createSender } from '../load/http.ts';
import { type Send, serveHeadsets } from './headsets.ts';
import { listen, readText } from './http.ts';

/**
 * The cost of a job's hops alone: one process that receives the call (bare Koa), exchanges the same messages
 * with the same simulated headsets (bare grpc-js) and POSTs both signed callbacks (undici). It checks no
 * token, stores nothing and keeps no order, so no platform with these hops can be faster on the same machine.
 */
let streams: readonly Send[] = [];
const commands = {
  start: async (o: { callbacks: string; authenticationKey: string }) => {
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
    const served = await serveHeadsets((body, send) => {
      if (body.case === 'ready') {
        const { transactionId } = body.value;
        send({ case: 'start', value: { transactionId } });
        call(Number(transactionId), 'accepted');
      } else if (body.case === 'report') {
        const { reportId, body: said } = body.value;
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
      ctx.status = 201;
      ctx.body = { transactionId: lastId };
      streams[lastId % streams.length]?.({
        case: 'offer',
        value: {
          transactionId: BigInt(lastId),
          operationId: 'put-v1-applications-devices-commands',
          activationEpoch: 1n,
          createdAtMs: BigInt(Date.now()),
          operation: {
            kind: { case: 'command', value: { package: name, extrasJson: JSON.stringify(extras) } },
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
