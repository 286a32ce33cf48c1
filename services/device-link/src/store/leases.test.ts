import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { pino } from 'pino';
import { createLeases, type InstanceDocument, instancesCollection } from './leases.ts';

test('a renewal that is stored late does not create the lease of a stopped instance again', async () => {
  const bed = openTestBed('device-link');
  const documents = bed.store.collection<InstanceDocument>(instancesCollection);
  const held = Promise.withResolvers<void>();
  const slow = new Proxy(documents, {
    get(of, name) {
      const value = Reflect.get(of, name) as unknown;
      if (name === 'updateOne') {
        return async (...args: Parameters<typeof of.updateOne>) => {
          await held.promise;
          return of.updateOne(...args);
        };
      }
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
  const store = { ...bed.store, collection: () => slow } as unknown as Store;
  const leases = createLeases(store, systemClock, {
    ...{ instanceId: 'one', address: () => '', leaseMs: 15_000 },
    logger: pino({ level: 'silent' }),
  });
  const renewal = leases.renew();
  const end = leases.end();
  held.resolve();
  await Promise.all([renewal, end]);
  expect(await documents.countDocuments({})).toBe(0);
  bed.remove();
});
