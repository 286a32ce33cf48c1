import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto';
import { create, type Message } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { LaunchType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  CreateTransactionRequestSchema,
  type CreateTransactionResponse,
  TransactionsService,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';
import jwt from 'jsonwebtoken';
import Koa from 'koa';
import { serveCommands } from '../lib/worker.ts';
import { startCreateHandler } from './create-handler.ts';
import { listen, readText } from './http.ts';
import type { BaselineStore } from './store.ts';

/**
 * Baseline of the create measure: a bare Koa server that verifies the same JWT (with a cache of verified ones),
 * decodes the body and makes one real gRPC call to a second handler, which writes twice. On the embedded
 * stack the handler is in this process, like the platform's services; on the real stack it is in its own
 * process (worker `baselines/create-store.ts`).
 */
const definition = methodDefinition(TransactionsService.method.createTransaction);
const path = /^\/v1\/applications\/([^/]+)\/devices\/([^/]+)\/commands$/;

async function issuerKey(issuer: string): Promise<KeyObject> {
  const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as { keys: webcrypto.JsonWebKey[] };
  return createPublicKey({ key: keys[0] as webcrypto.JsonWebKey, format: 'jwk' });
}

const commands = {
  /** Starts the server; `handlerPort` names the second handler if that is in another process. */
  start: async (o: { issuer: string; store: BaselineStore; handlerPort?: number }): Promise<string> => {
    const key = await issuerKey(o.issuer);
    const verified = new Set<string>();
    const port = o.handlerPort ?? (await startCreateHandler(o.store));
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    const call = (request: Message): Promise<CreateTransactionResponse> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          definition.path,
          definition.requestSerialize,
          definition.responseDeserialize,
          request,
          (error, answer) => (error ? reject(error) : resolve(answer as CreateTransactionResponse)),
        );
      });

    const app = new Koa();
    app.use(async (ctx) => {
      const token = (ctx.req.headers.authorization ?? '').slice('Bearer '.length);
      if (!verified.has(token)) {
        jwt.verify(token, key, { algorithms: ['RS256', 'ES256'], issuer: o.issuer });
        verified.add(token);
      }
      const [, applicationId = '', deviceId = ''] = path.exec(ctx.path) ?? ctx.throw(404);
      const body = JSON.parse(await readText(ctx.req));
      const { transactionId } = await call(
        create(CreateTransactionRequestSchema, {
          deviceId,
          applicationId,
          operationId: 'put-v1-applications-devices-commands',
          activationEpoch: 1n,
          operation: {
            kind: {
              case: 'command',
              value: {
                package: body.package,
                launchType: LaunchType.ACTIVITY,
                extrasJson: JSON.stringify(body.extras),
              },
            },
          },
        }),
      );
      ctx.status = 201;
      ctx.set('Location', `/v1/applications/${applicationId}/transactions/${transactionId}`);
      ctx.body = { transactionId: Number(transactionId) };
    });
    return listen(app.callback());
  },
};
export type CreateBaseline = typeof commands;
serveCommands(commands);
