import { distributedConfig } from '@headset-cloud/process/common-config.ts';
import { prepareConfig } from './config.ts';

/** A key for consumers only, not for stores or topics. */
const ofConsumers = ['KAFKA_SESSION_TIMEOUT_MS'];

test('it reads every key about the addresses of stores, the names in them, and their creation', () => {
  const ofStores = Object.entries(distributedConfig)
    .filter(([key]) => /^(MONGODB|KAFKA)_/.test(key) && !ofConsumers.includes(key))
    .sort();
  expect(ofStores.length).toBeGreaterThan(4);
  const own = Object.entries(prepareConfig).filter(([key]) => /^(MONGODB|KAFKA)_/.test(key));
  expect(own.sort()).toEqual(ofStores);
});
