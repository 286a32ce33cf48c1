import { createAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describeOnStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

describeOnStack('headsets over TLS that device-link ends itself', () => {
  let platform: OwnPlatform;
  beforeAll(async () => {
    platform = await openOwnPlatform({ headsetTls: true });
  });
  afterAll(() => platform?.close());

  // The activation was completed when the platform was opened, over TLS as well.
  it('a command is delivered to the headset, and its result as callbacks', async () => {
    const { arrivals } = await platform.receiver(() => 204);
    const headset = platform.headset();
    headset.connect();
    const id = await platform.command();
    await waitFor('both callbacks', () => {
      const types = arrivals.flatMap(({ body }) =>
        body.transactionId === id ? [body.notificationType] : [],
      );
      return types.includes('accepted') && types.includes('processed');
    });
    expect(await platform.status(id)).toBe('processed');
    expect(headset.effects.has(id)).toBe(true);
    await headset.close();
  });

  it('a headset that trusts another authority, and a headset without TLS, cannot connect', async () => {
    const otherAuthority = (await createAuthority('another')).ca;
    for (const headset of [
      platform.headset({ ca: otherAuthority }),
      platform.headset({ ca: undefined as unknown as string }),
    ]) {
      const ended = new Promise<string>((resolve) => {
        headset.once('offline', (_, details) => resolve(details));
      });
      headset.connect();
      await ended;
      expect(headset.sessionEpoch).toBe(0);
      await headset.close();
    }
  });
});
