import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { currentActor, withActor } from '@headset-cloud/rpc/actor.ts';
import { GrpcChannel, RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bind, createClient } from '@headset-cloud/rpc/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { type PendingAuditRecord, recordOf } from './record.ts';

/** An actor travels with the calls that are made for it (ADR 0044). */

const actor = {
  ...{ clientId: 'client', tokenId: 'jti', operator: '', address: '2001:db8::1' },
  ...{ requestId: 'request', route: 'PATCH /v1/x' },
};
const seen: PendingAuditRecord[] = [];
const binding = bind(BillingService, {
  getBill: async ({ applicationId }) => {
    seen.push(recordOf(1, { applicationId, clientId: 'of the call' }));
    return {};
  },
});
beforeEach(() => {
  seen.length = 0;
});

test('over gRPC the handler knows the actor; a call without one has the client that it names', async () => {
  const server = new RpcServer([binding], createLogger({ level: 'silent' }));
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  const client = createClient(BillingService, channel);
  try {
    await withActor(actor, () => client.getBill({ applicationId: 'app' }));
    await client.getBill({ applicationId: 'app' });
  } finally {
    await channel.close();
    await server.stop();
  }
  expect(seen).toMatchObject([
    { ...actor, action: 'billing.GetBill', applicationId: 'app', atMs: 1 },
    { clientId: 'of the call', tokenId: '', action: 'billing.GetBill' },
  ]);
  expect(seen[0]?.id).not.toBe(seen[1]?.id);
});

test('within a process too; after the call there is no actor', async () => {
  const channel = new LocalChannel();
  channel.register([binding]);
  await withActor(actor, () => createClient(BillingService, channel).getBill({ applicationId: 'app' }));
  expect(seen).toMatchObject([{ ...actor, action: 'billing.GetBill' }]);
  expect(currentActor()).toBeUndefined();
});

test('names that are too long are truncated', () => {
  const { target, fields } = recordOf(1, {
    ...{ target: 'x'.repeat(5000), fields: Array.from({ length: 500 }, () => 'y'.repeat(5000)) },
  });
  expect([target.length, fields.length, fields[0]?.length]).toEqual([256, 100, 256]);
});
