import type { Headset, HeadsetOptions } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { startVanishingLine, type VanishingLine } from '../support/vanishing-line.ts';
import { ago, describeOnStack, stack as suiteStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';
import type { Arrival, Receiver, Reply } from './receiver.ts';

const attemptMs = 2000;
const maxAgeHours = 0.0012;
const keepalive = { everyMs: 700, answerMs: 500 };

// The limits of production, but shorter; tests of the configuration verify the production values.
describeOnStack('peers that never answer', () => {
  let own: OwnPlatform;
  let line: VanishingLine;

  beforeAll(async () => {
    line = await startVanishingLine('');
    own = await openOwnPlatform({
      env: {
        NOTIFIER_TOTAL_TIMEOUT_MS: String(attemptMs),
        NOTIFIER_MAX_AGE_HOURS: String(maxAgeHours),
        NOTIFIER_BACKOFF_FIRST_MS: '50',
        NOTIFIER_BACKOFF_MAX_MS: '200',
        NOTIFIER_PROBE_MAX_MS: '200',
        DEVICE_LINK_KEEPALIVE_MS: String(keepalive.everyMs),
        DEVICE_LINK_KEEPALIVE_TIMEOUT_MS: String(keepalive.answerMs),
        RPC_KEEPALIVE_MS: String(keepalive.everyMs),
        RPC_KEEPALIVE_TIMEOUT_MS: String(keepalive.answerMs),
      },
      gatewayReaches: (service, address) => {
        if (service !== 'billing') return address;
        line.target = address;
        return line.address;
      },
    });
  }, 180_000);
  afterAll(async () => {
    await own?.close();
    await line?.close();
  });

  afterEach(async () => {
    await Promise.all(headsets.splice(0).map((headset) => headset.close()));
  });

  const headsets: Headset[] = [];
  async function online(options: Partial<HeadsetOptions> = {}): Promise<Headset> {
    const headset = own.headset(options);
    headsets.push(headset);
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    return headset;
  }
  const arrivalsOf = (receiver: Receiver, id: number) =>
    receiver.arrivals.filter(({ body }) => body.transactionId === id);
  const record = async (id: number) =>
    own.admin.notifier.getDelivery({ notificationId: `tx-${id}-processed` });
  /** A command without anything to call ends at once, with one callback. */
  const failingCommand = () => own.command({ launchType: 'activity' });
  const sessions = async () => {
    const url = own.stack.adminUrls['device-link'] ?? own.stack.adminUrls['platform'];
    const { body } = await request(`${url}/metrics`);
    return Number(/^headset_sessions(?:\{[^}]*\})? (\d+)/m.exec(await body.text())?.[1]);
  };

  // protects against callbacks/slow-answer
  it('an attempt to a hanging integrator’s server is aborted at the time limit, and the callback is sent again', async () => {
    const order: string[] = [];
    const hanging = await own.receiver((_, earlier) => {
      order.push(earlier.length > 0 ? 'sent again' : 'sent');
      return earlier.length > 0 ? 204 : (response) => response.once('close', () => order.push('cut off'));
    });
    await online();
    const id = await failingCommand();
    const [first, second] = await waitFor('the second attempt', () => {
      const found = arrivalsOf(hanging, id);
      return found.length >= 2 && (found as [Arrival, Arrival]);
    });
    expect(order.slice(0, 3)).toEqual(['sent', 'cut off', 'sent again']);
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    const { delivery, recentAttempts } = await waitFor('the record', async () => {
      const found = await record(id);
      return found.delivery?.status === 'delivered' && found;
    });
    expect(delivery).toMatchObject({ attempts: 2, lastOutcome: '204' });
    const [cut] = recentAttempts.toSorted((a, b) => Number(a.atMs - b.atMs));
    expect(cut).toMatchObject({ statusCode: 0, error: `no complete answer within ${attemptMs} ms` });
    expect(cut?.durationMs).toBeGreaterThanOrEqual(attemptMs);
  });

  // proves ext/test-callbacks/result
  // protects against callbacks/test-endless
  it('a test callback without an answer ends at the time limit, and the result contains the reason', async () => {
    const never = await own.receiver(() => () => {});
    const test = { type: 'notify-boot', destination: 'deviceEvent', verify: true };
    expect((await own.call(200, 'POST', '/test_callbacks', test)).body).toMatchObject({
      ...{ statusCode: null, answer: null, reason: 'No complete answer arrived in time.' },
      verification: { refused: null },
    });
    expect(never.arrivals.length).toBeGreaterThan(0);
  });

  it('a callback that is never accepted is retried until its time limit; then it is dead, and is not sent again', async () => {
    const looked = Promise.withResolvers<Reply>();
    const failing = await own.receiver((_, earlier) => (earlier.length === 2 ? looked.promise : 503));
    await online();
    const id = await failingCommand();
    await waitFor('several attempts', () => arrivalsOf(failing, id).length >= 3);
    expect((await record(id)).delivery?.status).toBe('pending');
    looked.resolve(503);
    const dead = await waitFor('its end', async () => {
      const { delivery } = await record(id);
      return delivery?.status === 'dead' && delivery;
    });
    const tried = arrivalsOf(failing, id);
    expect(tried.length).toBeGreaterThanOrEqual(10);
    expect(dead).toMatchObject({ attempts: tried.length, nextAttemptAtMs: 0n });
    // A later callback is sent; the dead one is not.
    const taking = await own.receiver(() => 204);
    const next = await failingCommand();
    await waitFor('the next one', () => arrivalsOf(taking, next).length > 0);
    expect([arrivalsOf(taking, id), arrivalsOf(failing, id).length]).toEqual([[], tried.length]);
  });

  it('a result that the headset dates 80 hours back still has its whole time limit and ten attempts', async () => {
    const failing = await own.receiver(({ body }) => (body.notificationType === 'processed' ? 503 : 204));
    const headset = await online({ behaviour: { answersStarts: false, appAnswer: false } });
    const id = await own.command();
    await waitFor('the start', async () => (await own.status(id)) === 'accepted');
    const value = { transactionId: BigInt(id), success: true, message: 'said late' };
    const saidAtMs = Date.now();
    headset.report({ case: 'result', value }, { occurredAtMs: ago(80 * 3_600_000) });
    const dead = await waitFor('its end', async () => {
      const { delivery } = await record(id).catch(() => ({ delivery: undefined }));
      return delivery?.status === 'dead' && delivery;
    });
    // The time limit starts here.
    expect(Number(dead.createdAtMs)).toBeGreaterThanOrEqual(saidAtMs);
    const tried = arrivalsOf(failing, id).filter(({ body }) => body.notificationType === 'processed');
    expect(tried.length).toBeGreaterThanOrEqual(10);
    expect(dead.attempts).toBe(tried.length);
  });

  it('a headset that loses its network is offline soon; its transactions wait, and are dispatched once when it is back', async () => {
    const taking = await own.receiver(() => 204);
    await waitFor('no session of the tests before', async () => (await sessions()) === 0);
    const network = await startVanishingLine(own.stack.deviceLinkUrl);
    try {
      const headset = await online({
        server: network.address,
        channelOptions: {
          'grpc.keepalive_time_ms': keepalive.everyMs,
          'grpc.keepalive_timeout_ms': keepalive.answerMs,
        },
      });
      const effects: number[] = [];
      headset.on('effect', (id) => effects.push(id));
      const epoch = headset.sessionEpoch;
      await waitFor('its session to be counted', async () => (await sessions()) === 1);
      network.vanish();
      // The command may be dispatched to the session without a working connection.
      const id = await own.command();
      await waitFor('it to be offline', async () => (await sessions()) === 0);
      expect([await own.status(id), effects, arrivalsOf(taking, id)]).toEqual(['published', [], []]);
      network.comeBack();
      await waitFor('a new session', () => headset.sessionEpoch > epoch);
      await waitFor('the end', () =>
        arrivalsOf(taking, id).some(({ body }) => body.notificationType === 'processed'),
      );
      expect(effects).toEqual([id]);
      expect(await own.status(id)).toBe('processed');
      expect(arrivalsOf(taking, id).map(({ body }) => [body.notificationType, body.result])).toEqual([
        ['accepted', 'success'],
        ['processed', 'success'],
      ]);
    } finally {
      await network.close();
    }
  });

  // In one process there is no network between the parts.
  (suiteStack.oneProcess ? it.skip : it)(
    'if the connection to a service is lost without a close, one call ends at its deadline with 503; later calls use a new connection',
    async () => {
      const bill = () => own.api.app('GET', '/billing?year=2026&month=10');
      expect((await bill()).status).toBe(200);
      const before = line.connections;
      line.vanish();
      const lost = await bill();
      expect(lost.status).toBe(503);
      expect(lost.headers['retry-after']).toMatch(/^\d+$/);
      line.comeBack();
      await waitFor('an answer', async () => (await bill()).status === 200);
      expect((await bill()).status).toBe(200);
      expect(line.connections).toBeGreaterThan(before);
    },
  );
});
