import { rmSync } from 'node:fs';
import { ticketPurpose } from '@headset-cloud/proto/operations.ts';
import { inspectSealed } from '@headset-cloud/rules/sealed/inspect.ts';
import { createSecretBox, type SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { device, World } from './testing/world.ts';

const former = createSecretBox('a test secret of more than thirty-two characters');
const both = createSecretBox('the next key of more than thirty-two characters', [
  'a test secret of more than thirty-two characters',
]);
const alone = createSecretBox('the next key of more than thirty-two characters');

describe('tickets of updates that wait for their headset', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const update = (subject: string) => {
    const ticket = former.seal(subject, ticketPurpose(device));
    const value = { package: subject, version: '1', artifact: { sizeBytes: 1n, ticket } };
    return world.create({
      ...{ operationId: 'put-v1-applications-devices-apps', subject },
      operation: { kind: { case: 'updateApp', value } },
    });
  };
  const run = async (secrets: SecretKeys, moves: boolean) => {
    const reseal = moves ? async () => {} : undefined;
    const [values] = world.service.sealed ?? [];
    if (values?.name !== 'tickets of updates') throw new Error('the service does not list its tickets');
    const total = { moved: 0, unopened: 0, keys: new Map<string, number>() };
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await inspectSealed(values, secrets, { after, reseal, limit: 1 });
      total.moved += page.moved;
      total.unopened += page.unopened.length;
      for (const [key, n] of page.keys) total.keys.set(key, (total.keys.get(key) ?? 0) + n);
      after = page.next;
    }
    return total;
  };

  test('are resealed and offered with the new key; the ticket of an accepted update is only counted', async () => {
    const accepted = await update('p@1');
    await world.accept(accepted);
    expect(await world.status(accepted)).toBe('ACCEPTED');
    const waiting = [await update('p@2'), await update('p@3')];
    await world.create();
    // A transaction that becomes published during the search would be counted twice.
    for (const id of waiting) {
      await waitFor('it to be published', async () => (await world.status(id)) === 'PUBLISHED');
    }
    expect(await run(both, true)).toEqual({
      ...{ moved: 2, unopened: 0 },
      keys: new Map([
        [both.sealing, 2],
        [former.sealing, 1],
      ]),
    });
    expect(await run(both, true)).toMatchObject({ moved: 0 });
    expect(await run(alone, false)).toMatchObject({ unopened: 1 });

    const { offers } = await world.sessions.headsetOnline({ deviceId: device, sessionEpoch: 1n });
    const tickets = offers.flatMap(({ transactionId, operation }) =>
      operation?.kind.case === 'updateApp'
        ? [[Number(transactionId), operation.kind.value.artifact?.ticket] as const]
        : [],
    );
    const opened = tickets
      .filter(([id]) => waiting.includes(id))
      .map(([, ticket]) => alone.open(ticket ?? new Uint8Array(), ticketPurpose(device)));
    expect(opened).toEqual(['p@2', 'p@3']);

    await world.hello(1n);
    await world.result(accepted);
    await world.handled();
    expect((await run(both, false)).keys).toEqual(new Map([[both.sealing, 2]]));
  });
});
