import { ConfigError, readConfig } from '@headset-cloud/kit/config.ts';
import { billingConfigSpec } from './config.ts';
import { idempotenceOff } from './unsafe.ts';

const read = (env: Record<string, string>) => readConfig(billingConfigSpec, env);

test('the unsafe switch is refused in production, unknown words everywhere', () => {
  const config = read({ BILLING_UNSAFE_SWITCHES: 'no-idempotence' });
  expect(idempotenceOff(config, {})).toBe(true);
  expect(() => idempotenceOff(config, { NODE_ENV: 'production' })).toThrow(ConfigError);
  expect(() => read({ BILLING_UNSAFE_SWITCHES: 'other' })).toThrow(ConfigError);
});

test('without the switch no safeguard is left out', () => {
  expect(idempotenceOff(read({}), { NODE_ENV: 'production' })).toBe(false);
});
