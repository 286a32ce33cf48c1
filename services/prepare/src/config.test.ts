import { distributedConfig } from '@headset-cloud/kit/common-config.ts';
import { prepareConfig } from './config.ts';

/** Says how a service consumes, not what a topic is or where. */
const ofConsumers = ['KAFKA_SESSION_TIMEOUT_MS'];

test('it reads every key that says where the stores are, what things in them are called, and how they are made', () => {
  const ofStores = Object.entries(distributedConfig)
    .filter(([key]) => /^(MONGODB|KAFKA)_/.test(key) && !ofConsumers.includes(key))
    .sort();
  expect(ofStores.length).toBeGreaterThan(4);
  const own = Object.entries(prepareConfig).filter(([key]) => /^(MONGODB|KAFKA)_/.test(key));
  expect(own.sort()).toEqual(ofStores);
});
