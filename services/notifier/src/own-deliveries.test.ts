import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, key, seen, useWorld } from './testing/fixture.ts';

const use = useWorld();
const device = '350000000000001';
const body = (operationId: string, more: object = {}) =>
  Buffer.from(JSON.stringify({ operationId, deviceId: device, ...more }));
const own = () => use.world.newest.deliveries;
const caller = (applicationId = 'a-1', idempotency?: object) => ({
  ...{ clientId: 'c-1', applicationId },
  ...(idempotency && {
    idempotency: { key: 'k-1', method: 'POST', path: '/p', bodySha256: Buffer.from('b'), ...idempotency },
  }),
});

async function stateOf(deliveryId: string, applicationId = 'a-1') {
  const found = await own()
    .readDelivery({ applicationId, deliveryId })
    .catch(() => undefined);
  return found?.delivery?.state;
}

// protects against callbacks/answer-secrets
test('each attempt is returned with its status, a reason and the beginning of the answer, without the key', async () => {
  let n = 0;
  const server = await use.integrator(() => {
    n++;
    if (n === 1) return { status: 500, body: `${key} ${'é'.repeat(2000)}` };
    return n === 2 ? { status: 307, body: 'thank you' } : { status: 204 };
  });
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1', body: body('notify-boot') });
  await waitFor('its delivery', async () => (await stateOf('n-1')) === 'delivered');
  const {
    delivery,
    attempts,
    body: text,
  } = await own().readDelivery({ applicationId: 'a-1', deliveryId: 'n-1' });
  expect(delivery).toMatchObject({
    ...{ deliveryId: 'n-1', type: 'notify-boot', destination: 'deviceEvent', deviceId: device },
    ...{ state: 'delivered', attempts: 3, transactionId: 0n, nextAttemptAtMs: 0n },
  });
  expect(text).toBe(body('notify-boot').toString());
  expect(attempts).toMatchObject([
    { statusCode: 500, reason: 'answered', message: expect.stringContaining('other than 2xx') },
    { statusCode: 307, reason: 'answered', answer: 'thank you' },
    { statusCode: 204, reason: '', message: '', answer: '' },
  ]);
  const [first] = attempts;
  expect(first?.answer).toContain('é');
  expect(Buffer.byteLength(first?.answer ?? '')).toBeLessThanOrEqual(1024);
  expect(first?.answer).not.toContain(key);
});

test('the reason for a rejected or unreachable endpoint contains no internals of the platform', async () => {
  use.world.destinations.set('a-1', { url: 'http://127.0.0.1:1/x', authenticationKey: key });
  use.world.destinations.set('a-2', { url: 'http://10.1.2.3/x', authenticationKey: key });
  await use.world.start();
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1' },
    { notificationId: 'n-2', applicationId: 'a-2' },
  );
  const reason = async (applicationId: string, deliveryId: string) =>
    (
      await own()
        .readDelivery({ applicationId, deliveryId })
        .catch(() => undefined)
    )?.attempts[0]?.reason;
  await waitFor('the first', async () => (await reason('a-1', 'n-1')) === 'connection');
  await waitFor('the second', async () => (await reason('a-2', 'n-2')) === 'address_refused');
  const all = await own().readDelivery({ applicationId: 'a-1', deliveryId: 'n-1' });
  expect(all.attempts[0]?.message).not.toContain('127.0.0.1');
});

test('of many attempts the first and the last ones are kept, and the answers of few', async () => {
  const server = await use.integrator(() => ({ status: 503, body: `answer ${server.arrivals.length}` }));
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_FAILING_AFTER: '1000', NOTIFIER_BACKOFF_MAX_MS: '5' });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('many attempts', () => seen(server).length > 30);
  const { attempts } = await own().readDelivery({ applicationId: 'a-1', deliveryId: 'n-1' });
  expect(attempts).toHaveLength(20);
  expect(attempts[0]?.answer).toBe('answer 0');
  expect(attempts.filter(({ answer }) => answer !== '')).toHaveLength(4);
  expect(attempts.slice(-3).every(({ answer }) => answer.startsWith('answer '))).toBe(true);
});

describe('lists', () => {
  const sinceMs = ago(60_000);
  const many = (count: number, name: string, more: object = {}) =>
    Array.from({ length: count }, (_, i) => ({
      ...{ notificationId: `${name}-${String(i).padStart(3, '0')}`, applicationId: 'a-1' },
      ...{ body: body('notify-boot'), createdAtMs: BigInt(sinceMs + Math.floor(i / 7)), ...more },
    }));
  const all = async (request: object, limit = 10) => {
    const found: string[] = [];
    for (let after = ''; ; ) {
      const answer = await own().findDeliveries({ applicationId: 'a-1', limit, after, ...request });
      found.push(...answer.deliveries.map(({ deliveryId }) => deliveryId));
      after = answer.cursor;
      if (after === '') return found;
    }
  };

  test('have every delivery once, newest first, whatever the limit, even if many were created at the same time', async () => {
    await use.world.start({ NOTIFIER_UNSET_RETRY_MS: '60000' });
    await use.world.publish(...many(60, 'n'));
    await use.world.publish(...many(5, 'other', { applicationId: 'a-2' }));
    await waitFor('all', async () => (await all({}, 100)).length === 60);
    // Some have a position in the feed, some do not.
    await use.world.newest.feed.readEvents({ applicationId: 'a-1', limit: 30 });
    await use.world.publish(...many(10, 'later'));
    await waitFor('all', async () => (await all({}, 100)).length === 70);
    const whole = await all({}, 100);
    for (const limit of [1, 3, 7, 10, 69, 70]) expect([limit, await all({}, limit)]).toEqual([limit, whole]);
    expect(new Set(whole).size).toBe(70);
    expect(await all({ fromMs: BigInt(sinceMs + 1), toMs: BigInt(sinceMs + 1) })).toHaveLength(7 + 3);
    expect(await all({ state: 'pending' })).toHaveLength(70);
    expect(await all({ state: 'dead' })).toEqual([]);
    expect(await all({ destination: 'soraEvent' })).toEqual([]);
    expect(await all({ destination: 'deviceEvent', types: ['notify-boot'], deviceId: device })).toHaveLength(
      70,
    );
    expect(await all({ types: ['notify-volume'] })).toEqual([]);
  });

  test('of ended callbacks have those that were created in the range, whenever they ended', async () => {
    const server = await use.integrator(() => ({ status: 410 }));
    use.pointTo('a-1', server);
    await use.world.start();
    await use.world.publish(...many(14, 'n'));
    await waitFor('all', async () => (await all({ state: 'dead' }, 100)).length === 14);
    const toMs = BigInt(sinceMs);
    expect((await all({ state: 'dead', toMs })).sort()).toEqual(
      many(7, 'n').map((one) => one.notificationId),
    );
    expect(await all({ state: 'dead', fromMs: toMs + 1n })).toHaveLength(7);
  });

  test('of one transaction have its callbacks, only of one application', async () => {
    const server = await use.integrator();
    use.pointTo('a-1', server);
    await use.world.start();
    const of = { orderKey: 'tx-7', applicationId: 'a-1' };
    await use.world.publish(
      { ...of, notificationId: 'tx-7-accepted', sequence: 1 },
      { ...of, notificationId: 'tx-7-processed', sequence: 2 },
      { ...of, orderKey: 'tx-77', notificationId: 'tx-77-accepted', sequence: 1 },
    );
    await waitFor('all', async () => (await all({ state: 'delivered' })).length === 3);
    expect((await all({ transactionId: 7n }, 1)).sort()).toEqual(['tx-7-accepted', 'tx-7-processed']);
    expect(await all({ transactionId: 7n, applicationId: 'a-2' })).toEqual([]);
    expect(await all({ state: 'delivered' }, 1)).toHaveLength(3);
    const { deliveries } = await own().findDeliveries({ applicationId: 'a-1', transactionId: 7n });
    expect(deliveries.map(({ transactionId }) => transactionId)).toEqual([7n, 7n]);
  });

  test('reject a cursor of other filters or of another application, and invalid cursors', async () => {
    await use.world.start();
    await use.world.publish(...many(5, 'n'));
    await waitFor('all', async () => (await all({}, 100)).length === 5);
    const { cursor } = await own().findDeliveries({ applicationId: 'a-1', limit: 2 });
    const ask = (request: object) =>
      own().findDeliveries({ applicationId: 'a-1', after: cursor, ...request });
    expect((await ask({ limit: 10 })).deliveries).toHaveLength(3);
    for (const request of [
      { state: 'dead' },
      { applicationId: 'a-2' },
      { after: 'x' },
      { after: '', state: 'none' },
      { after: '', limit: 1001 },
      { after: '', destination: 'none' },
    ])
      await expect(ask(request)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('sending again', () => {
  test('needs force for a callback that never failed, is a conflict for a pending one, and is not found for other applications', async () => {
    let open = true;
    const server = await use.integrator(() => ({ status: open ? 204 : 500 }));
    use.pointTo('a-1', server);
    await use.world.start();
    await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
    await waitFor('its delivery', async () => (await stateOf('n-1')) === 'delivered');
    const again = (more: object = {}) => own().sendAgain({ caller: caller(), deliveryId: 'n-1', ...more });
    await expect(again()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('"force": true'),
    });
    await expect(again({ caller: caller('a-2'), force: true })).rejects.toMatchObject({ code: 'not_found' });
    open = false;
    expect((await again({ force: true })).delivery?.state).toBe('pending');
    await waitFor('it arrives again', () => seen(server).length > 1);
    await expect(again({ force: true })).rejects.toMatchObject({ code: 'conflict' });
    open = true;
    await waitFor('its second delivery', async () => (await stateOf('n-1')) === 'delivered');
    // The callback has failed by now.
    expect((await again()).delivery?.state).toBe('pending');
  });

  test('counts in the metric of the delivery time from the resend, not from the creation', async () => {
    let open = false;
    const server = await use.integrator(() => ({ status: open ? 204 : 410 }));
    use.pointTo('a-1', server);
    const notifier = await use.world.start();
    const createdAtMs = BigInt(ago(10 * 3_600_000));
    await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1', createdAtMs });
    await waitFor('its end', async () => (await stateOf('n-1')) === 'dead');
    open = true;
    await own().sendAgain({ caller: caller(), deliveryId: 'n-1' });
    await waitFor('its delivery', async () => (await stateOf('n-1')) === 'delivered');
    const text = await notifier.metrics.getSingleMetricAsString('headset_callback_delivery_seconds');
    expect(text).toContain('headset_callback_delivery_seconds_bucket{le="3600"} 1');
  });

  test('with one Idempotency-Key is done once', async () => {
    const server = await use.integrator();
    use.pointTo('a-1', server);
    await use.world.start();
    await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
    await waitFor('its delivery', async () => (await stateOf('n-1')) === 'delivered');
    const again = (more: object = {}) =>
      own().sendAgain({ caller: caller('a-1', more), deliveryId: 'n-1', force: true });
    await Promise.all([again(), again(), again()]);
    await waitFor('it arrives again', () => seen(server).length === 2);
    await waitFor('its second delivery', async () => (await stateOf('n-1')) === 'delivered');
    // The first answer, whatever happened after it.
    expect((await again()).delivery?.state).toBe('pending');
    expect(seen(server)).toEqual(['n-1', 'n-1']);
    await again({ key: 'k-2' });
    await waitFor('it arrives again', () => seen(server).length === 3);
    await waitFor('its third delivery', async () => (await stateOf('n-1')) === 'delivered');
    await again();
    await expect(again({ bodySha256: Buffer.from('other') })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(await stateOf('n-1')).toBe('delivered');
    expect(seen(server)).toHaveLength(3);
  });
});
