import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { killedAt } from './forgetting.ts';
import { describeOnStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

/** A recovery has four parts. */
const count = 60;
const perSecond = 15;
const type = 'notify-custom-data';

interface Progress {
  readonly state: string;
  readonly total: number;
  readonly done: number;
  readonly endedAt: string | null;
}

describeOnStack('a recovery in a killed process', () => {
  let own: OwnPlatform;
  let headset: Headset;
  /** Status of the integrator's server for callbacks with a number divisible by three; it accepts the others. */
  let third = 410;
  let arrivals: readonly { readonly headers: Readonly<Record<string, unknown>> }[] = [];
  let lost: string[] = [];
  let since = '';
  beforeAll(async () => {
    own = await openOwnPlatform({
      env: {
        NOTIFIER_RECOVER_PER_SECOND: String(perSecond),
        NOTIFIER_BACKOFF_FIRST_MS: '50',
        NOTIFIER_PROBE_MAX_MS: '100',
      },
    });
    since = new Date().toISOString();
    ({ arrivals } = await own.receiver(({ body }) => (Number(body.customData) % 3 === 0 ? third : 204)));
    headset = own.headset();
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    for (let i = 0; i < count; i++)
      headset.report({ case: 'customData', value: { success: true, customData: `${i}` } });
    lost = await waitFor(
      'all to be delivered or dead',
      async () => {
        const [dead, delivered] = [await ended('dead'), await ended('delivered')];
        return (
          dead.length === count / 3 && delivered.length === count - dead.length && [...dead, ...delivered]
        );
      },
      { timeoutMs: 60_000, intervalMs: 200 },
    );
  }, 240_000);
  afterAll(() => own?.close());

  /** The ids of all callbacks of that type that have ended so. */
  async function ended(state: string): Promise<string[]> {
    const ids: string[] = [];
    for (let after = ''; ; ) {
      const query = `limit=1000&types=${type}&state=${state}${after && `&after=${after}`}`;
      const { body } = await own.call(200, 'GET', `/deliveries?${query}`);
      ids.push(...body.deliveries.map(({ webhookId }: { webhookId: string }) => webhookId));
      if (body.cursor === null) return ids;
      after = body.cursor;
    }
  }
  /** How often each callback was sent again, as the feed counts. */
  async function resends(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (let after = ''; ; ) {
      const query = `limit=1000&types=${type}&resends=true${after && `&after=${after}`}`;
      const { body } = await own.call(200, 'GET', `/events?${query}`);
      for (const { webhookId, resend } of body.events)
        if (resend !== undefined) found.set(webhookId, Math.max(resend, found.get(webhookId) ?? 0));
      if (!body.more) return found;
      after = body.cursor;
    }
  }
  const begin = async (): Promise<string> => {
    const request = { since, types: [type], delivered: true };
    const { body } = await own.call(200, 'POST', '/deliveries/recover', request);
    expect(body).toMatchObject({ count, recovery: { state: 'running', total: count } });
    return body.recovery.recoveryId;
  };
  const progress = async (id: string): Promise<Progress> =>
    (await own.call(200, 'GET', `/recoveries/${id}`)).body;
  /** Waits for the end of a recovery; its progress never decreases, and all its callbacks are sent. */
  async function toTheEnd(id: string, from: number): Promise<void> {
    let before = from;
    const last = await waitFor(
      'the end of the recovery',
      async () => {
        const now = await progress(id);
        expect(now.done).toBeGreaterThanOrEqual(before);
        before = now.done;
        return now.state === 'ended' && now;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
    expect(last).toMatchObject({ total: count, done: count, endedAt: expect.any(String) });
  }
  const nonePending = () =>
    waitFor('every callback to be delivered or dead', async () => {
      const { body } = await own.call(200, 'GET', `/deliveries?types=${type}&state=pending`);
      return body.deliveries.length === 0;
    });
  const taken = (id: string, from: number) =>
    arrivals.slice(from).filter(({ headers }) => headers['webhook-id'] === id).length;
  const once = (n: number) => new Map(lost.map((id) => [id, n]));

  // proves ext/deliveries/recover
  it('at any point: the next start continues, and each callback is sent again once', async () => {
    const from = arrivals.length;
    third = 204;
    const id = await begin();
    const done = await waitFor('a part of it', async () => {
      const now = await progress(id);
      return now.done >= 2 * perSecond && now.done;
    });
    const process = own.stack.processes['platform'] ?? own.stack.processes['notifier'];
    await process?.kill();
    process?.start();
    await own.stack.ready();
    await toTheEnd(id, done);
    await waitFor('all to arrive', () => lost.every((one) => taken(one, from) > 0));
    expect(await resends()).toEqual(once(1));
    expect((await ended('dead')).length).toBe(0);
  }, 180_000);

  it('between a part and its progress, while callbacks are accepted or become dead again: the repeated part has no effect', async () => {
    third = 410;
    const from = arrivals.length;
    await nonePending();
    let done = 0;
    const id = await killedAt(own, 'notifier', 'before store notifier.recoveries.next 3', async () => {
      const begun = await begin();
      await waitFor('its third part', async () => {
        const now = await progress(begun).catch(() => undefined);
        if (now) done = now.done;
        return !(own.stack.processes['platform'] ?? own.stack.processes['notifier'])?.running;
      });
      return begun;
    });
    expect(done).toBeLessThanOrEqual(2 * perSecond);
    // The deliveries of this part arrive and end before the claim of the killed process expires.
    await waitFor(
      'the deliveries of its third part',
      () => new Set(arrivals.slice(from).map(({ headers }) => headers['webhook-id'])).size >= 3 * perSecond,
    );
    await nonePending();
    await toTheEnd(id, done);
    await waitFor('all to arrive', () => lost.every((one) => taken(one, from) > 0));
    expect(await resends()).toEqual(once(2));
  }, 180_000);
});
