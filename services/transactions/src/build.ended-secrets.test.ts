import { rmSync } from 'node:fs';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type OperationKind, operationOf } from '@headset-cloud/proto/operations.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { application, device, World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = new World();
  await world.start();
});
afterEach(async () => {
  await world.stop();
  rmSync(world.directory, { recursive: true, force: true });
});

type Kind = NonNullable<MessageInitShape<typeof OperationSchema>['kind']> & { case: OperationKind };

const secret = 'Known to nobody else 1234';
const kept = 'stays-as-it-was';
/** Operations with a secret and another value. */
const kinds: Kind[] = [
  { case: 'activate', value: { applicationId: 'app', clientId: kept, clientSecret: secret } },
  {
    case: 'applyWifi',
    value: { networks: [{ ssid: 'open' }, { ssid: kept, password: secret, security: 'WPA' }] },
  },
  {
    case: 'applyApns',
    value: { apns: [{ name: kept, apn: 'internet', mcc: '440', mnc: '10', user: 'user', password: secret }] },
  },
  { case: 'command', value: { package: kept, extrasJson: JSON.stringify({ token: secret }) } },
];

describe.each(kinds)('a secret of the operation $case', (kind) => {
  const create = () => world.create({ operationId: operationOf(kind.case).id, operation: { kind } });

  // protects against stores/ended-secret
  it('is stored until the result, and then erased', async () => {
    const id = await create();
    for (const session of [1n, 2n]) {
      const { offers } = await world.sessions.headsetOnline({ deviceId: device, sessionEpoch: session });
      expect(offers.map(({ operation }) => operation?.kind)).toMatchObject([kind]);
    }
    await world.accept(id, 2n);
    expect(await world.stored(id)).toContain(secret);
    await world.result(id);
    await waitFor('the end', () => world.of(id).some((body) => body['notificationType'] === 'processed'));
    await waitFor('its removal', async () => !(await world.stored(id)).includes(secret));
    expect(await world.stored(id)).toContain(kept);
    expect(await world.status(id)).toBe('PROCESSED');
  });

  it('is erased by a cancellation', async () => {
    const id = await create();
    await world.tx.cancelTransactions({ caller: { applicationId: application }, deviceId: device });
    await waitFor('the end', () => world.of(id).length === 1);
    expect(await world.stored(id)).not.toContain(secret);
  });
});

it('a transaction ends even if its operation cannot be decoded', async () => {
  const [kind] = kinds as [Kind];
  const id = await world.create({ operationId: operationOf(kind.case).id, operation: { kind } });
  await world.accept(id);
  await world.corruptOperation(id);
  await world.result(id);
  await waitFor('the end', () => world.of(id).length === 2);
  await waitFor('no pending callback', async () => (await world.dueIds()).length === 0);
  expect(await world.status(id)).toBe('PROCESSED');
});
