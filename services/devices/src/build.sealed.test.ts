import { inspectSealed } from '@headset-cloud/rules/sealed/inspect.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import { openText, purposes } from './store/sealed-text.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

const former = 'a test secret of more than thirty-two characters';
const next = 'the next key of more than thirty-two characters';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

test('everything that devices has sealed is resealed, and then opens without the former key', async () => {
  const caller = callerOf(await provision(world), 'a repeated call');
  const { authenticationKey } = await world.applications.refreshAuthenticationKey({ caller });
  // A repeated activation remembers the activation that it replaced (ADR 0063).
  const earlier = { caller: callerOf('app'), deviceId: imei(0), clientId: 'earlier', clientSecret: 'hush' };
  await world.devices.activateDevice(earlier);
  // Interrupted, so that the secret also waits for its transaction.
  world.cutAt = 'after store devices.devices.activation';
  const request = { caller: callerOf('app'), deviceId: imei(0), clientId: 'client', clientSecret: 'hush' };
  await expect(world.devices.activateDevice(request)).rejects.toThrow();

  const move = async (secrets = createSecretBox(next, [former])) => {
    const found: Record<string, unknown> = {};
    for (const location of world.service.sealed ?? []) {
      const { keys, moved, unopened } = await inspectSealed(location, secrets, { reseal: async () => {} });
      found[location.name] = { keys: [...keys.keys()], moved, unopened: unopened.length };
    }
    return found;
  };
  const keys = [createSecretBox(next).sealing];
  expect(await move()).toEqual({
    'authentication keys': { keys, moved: 1, unopened: 0 },
    'client secrets': { keys, moved: 3, unopened: 0 },
    'kept answers': { keys, moved: 2, unopened: 0 },
  });
  expect(await move()).toEqual({
    'authentication keys': { keys, moved: 0, unopened: 0 },
    'client secrets': { keys, moved: 0, unopened: 0 },
    'kept answers': { keys, moved: 0, unopened: 0 },
  });
  const application = await world.store.collection('applications').findOne({});
  const device = await world.store.collection('devices').findOne({ epoch: 1 });
  const alone = createSecretBox(next);
  expect(openText(alone, application?.['authenticationKey'], purposes.authenticationKey('app'))).toBe(
    authenticationKey,
  );
  for (const { clientSecret: sealed } of [
    device?.['activation'],
    device?.['activation'].earlier[0],
    device?.['pending'][0],
  ]) {
    expect(openText(alone, sealed, purposes.clientSecret(imei(0)))).toBe('hush');
  }
});
