import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, key, seen, status, useWorld } from './testing/fixture.ts';

const use = useWorld();

test('a callback is not sent before it is on disk, so that its receipt is never lost', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  use.world.disk.hold();
  const published = use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  // The event is consumed before it is on disk. Its delivery is the second write that waits for the disk.
  const stored = () => use.world.store.collection('deliveries', { settle: 'in-order' }).countDocuments();
  await waitFor('the delivery', async () => (await stored()) === 1);
  // A request that needs no disk is sent meanwhile.
  const other = await use.integrator();
  use.world.destinations.set('a-2', { url: other.url, authenticationKey: key });
  const request = { applicationId: 'a-2', setting: 'fileUploadGetUrl', body: Buffer.from('{}') };
  await notifier.signedUrls.requestSignedUrls(request).catch(() => {});
  expect(other.arrivals).toHaveLength(1);
  expect(server.arrivals).toEqual([]);
  use.world.disk.release();
  await published;
  await waitFor('the callback', () => ids(server).length === 1);
  await waitFor('its mark', async () => (await status(notifier, 'n-1')) === 'delivered');
});

test('a callback is sent once, with both signatures correct for the bytes, to the registered path', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  const body = Buffer.from('{"message":"起動しました", "n":12345678901234567890}');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1', body, traceparent });
  await waitFor('the delivery is stored as delivered', async () => {
    return (await status(notifier, 'n-1').catch(() => '')) === 'delivered';
  });
  expect(server.arrivals).toEqual([
    expect.objectContaining({
      webhookId: 'n-1',
      verified: true,
      path: '/callbacks?x=1',
      applicationId: 'a-1',
      rawBody: body.toString(),
      traceparent,
    }),
  ]);
  const {
    delivery,
    recentAttempts,
    body: stored,
  } = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(delivery).toMatchObject({ attempts: 1, destination: 'deviceEvent', lastOutcome: '204' });
  expect(recentAttempts).toMatchObject([{ statusCode: 204, error: '' }]);
  expect(stored).toBe(body.toString());
});

test('a repeated event, in its batch or later, causes no second callback', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  await use.world.start();
  const event = { notificationId: 'n-1', applicationId: 'a-1' };
  await use.world.publish(event, event);
  await use.world.publish(event);
  await use.world.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('the last one has arrived', () => ids(server).includes('n-2'));
  expect(seen(server)).toEqual(['n-1', 'n-2']);
});

test('callbacks of one order key first arrive in the order of their sequence, although some fail', async () => {
  let n = 0;
  const server = await use.integrator(() => ({ status: n++ % 3 === 0 ? 500 : 204 }));
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  const order = [1, 2, 3, 4, 5, 6];
  const keys = Array.from({ length: 20 }, (_, i) => `t-${i}`);
  await use.world.publish(
    ...order.flatMap((sequence) =>
      keys.map((orderKey) => {
        return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
      }),
    ),
  );
  await waitFor('all have arrived', () => server.received.length === keys.length * order.length);
  for (const orderKey of keys) {
    const first = [...new Set(seen(server))].filter((id) => id.startsWith(`${orderKey}.`));
    expect(first).toEqual(order.map((sequence) => `${orderKey}.${sequence}`));
  }
});

test('an undelivered progress is replaced by a later event, and its order key continues', async () => {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 503 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await use.world.publish({ ...event, notificationId: 'p-1', sequence: 1, replaceable: true });
  await waitFor('the first one was tried', () => seen(server).includes('p-1'));
  await use.world.publish(
    { ...event, notificationId: 'p-2', sequence: 2, replaceable: true },
    { ...event, notificationId: 'end', sequence: 3 },
  );
  await waitFor('the end was tried', () => seen(server).includes('end'));
  open = true;
  await waitFor('the end has arrived', () => ids(server).length > 0);
  expect(ids(server)).toEqual(['end']);
  expect(seen(server)).not.toContain('p-2');
  await waitFor('both are stored as replaced', async () => {
    return (await status(notifier, 'p-1')) === 'replaced' && (await status(notifier, 'p-2')) === 'replaced';
  });
});

test('the replacement of a progress is stored before the later event is sent, so that no crash restores the progress', async () => {
  const statuses: (string | undefined)[] = [];
  const server = await use.integrator(async ({ webhookId }) => {
    if (webhookId === 'p-2') statuses.push(await status(notifier, 'p-1'));
    return { status: 204 };
  });
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  // A connection is open after this, so the next callbacks are sent faster than outcomes are stored.
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the connection is open', () => ids(server).length > 0);
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await use.world.publish(
    { ...event, notificationId: 'p-1', sequence: 1, replaceable: true },
    { ...event, notificationId: 'p-2', sequence: 2, replaceable: true },
  );
  await waitFor('the later one has arrived', () => ids(server).includes('p-2'));
  expect(seen(server)).toEqual(['n-1', 'p-2']);
  expect(statuses).toEqual(['replaced']);
});

test.each([302, 400, 500])('an answer %d is a failure, and the callback is retried', async (code) => {
  let n = 0;
  const server = await use.integrator(() => {
    return n++ === 0 ? { status: code, headers: { location: '/elsewhere' } } : { status: 200 };
  });
  use.pointTo('a-1', server);
  await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it has arrived', () => server.received.length === 1);
  expect(server.arrivals.map(({ path, answered }) => [path, answered])).toEqual([
    ['/callbacks?x=1', code],
    ['/callbacks?x=1', 200],
  ]);
});

test('410 ends a callback at once; an operator can send it again with the same id', async () => {
  let code = 410;
  const server = await use.integrator(() => ({ status: code }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it is dead', async () => (await status(notifier, 'n-1').catch(() => '')) === 'dead');
  expect(server.arrivals).toHaveLength(1);
  const { deliveries } = await notifier.admin.listDeliveries({ applicationId: 'a-1', status: 'dead' });
  expect(deliveries).toMatchObject([
    { notificationId: 'n-1', lastOutcome: 'answered 410', nextAttemptAtMs: 0n },
  ]);
  expect(await notifier.metrics.metrics()).toContain('\nheadset_callbacks_dead_total 1\n');

  code = 204;
  await notifier.admin.redeliverDelivery({ notificationId: 'n-1' });
  await waitFor('it is delivered', async () => (await status(notifier, 'n-1')) === 'delivered');
  expect(ids(server)).toEqual(['n-1']);
  // A delivered callback can be sent again, too.
  await notifier.admin.redeliverDelivery({ notificationId: 'n-1' });
  await waitFor('it came again', () => server.arrivals.length === 3);
});

test('unknown deliveries are not found; a pending one cannot be sent again', async () => {
  use.world.destinations.set('a-1', 'away');
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it is stored', () => status(notifier, 'n-1').catch(() => undefined));
  await expect(notifier.admin.getDelivery({ notificationId: 'no' })).rejects.toMatchObject({
    code: 'not_found',
  });
  const redeliver = notifier.admin.redeliverDelivery;
  await expect(redeliver({ notificationId: 'no' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(redeliver({ notificationId: 'n-1' })).rejects.toMatchObject({ code: 'conflict' });
});

test('an unreadable event becomes a dead letter and does not block others', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  await use.world.start();
  await use.world.log.publish(topics.notifications, [{ key: 'a-1', value: Buffer.from('no message') }]);
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1' },
    { notificationId: '', applicationId: 'a-1' },
  );
  await waitFor('the good one has arrived', () => server.received.length === 1);
  await waitFor('both bad ones are dead letters', async () => {
    return (await use.world.log.readNewest(deadLetterTopic(topics.notifications), 10)).length === 2;
  });
});

test('operators find the oldest pending callbacks, of all applications or of one', async () => {
  const server = await use.integrator(() => ({ status: 500 }));
  for (const application of ['a-1', 'a-2']) use.pointTo(application, server);
  const notifier = await use.world.start();
  const nowMs = Date.now();
  const created = (agoMs: number) => BigInt(nowMs - agoMs);
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1', orderKey: 't-1', createdAtMs: created(1000) },
    { notificationId: 'n-2', applicationId: 'a-2', orderKey: 't-2', createdAtMs: created(3000) },
    { notificationId: 'n-3', applicationId: 'a-1', orderKey: 't-3', createdAtMs: created(2000) },
  );
  const list = async (applicationId: string, oldestFirst: boolean, limit = 0, createdAfterMs?: bigint) => {
    const after = createdAfterMs === undefined ? {} : { createdAfterMs };
    const query = { applicationId, status: 'pending', oldestFirst, limit, ...after };
    return (await notifier.admin.listDeliveries(query)).deliveries.map((d) => d.notificationId);
  };
  await waitFor('all to be there', async () => (await list('', false)).length === 3);
  expect(await list('', true)).toEqual(['n-2', 'n-3', 'n-1']);
  expect(await list('', false)).toEqual(['n-1', 'n-3', 'n-2']);
  expect(await list('a-1', true)).toEqual(['n-3', 'n-1']);
  expect(await list('a-1', true, 1)).toEqual(['n-3']);
  expect(await list('a-1', true, 1, created(2000))).toEqual(['n-1']);
  expect(await list('a-1', true, 1, created(1000))).toEqual([]);
  expect(await list('', true, 1, created(3000))).toEqual(['n-3']);
  await expect(list('a-1', false, 1, created(2000))).rejects.toThrow(
    'created_after_ms requires oldest_first.',
  );
  await use.world.publish({
    ...{ notificationId: 'n-4', applicationId: 'a-1', orderKey: 't-4', createdAtMs: created(2000) },
  });
  await waitFor('the fourth', async () => (await list('', false)).length === 4);
  // Deliveries with the same time are on one page.
  expect((await list('a-1', true, 1, -1n)).sort()).toEqual(['n-3', 'n-4']);
  expect((await list('', true, 2, -1n)).sort()).toEqual(['n-2', 'n-3', 'n-4']);
});

test('operators find the newest callbacks of an application, even if older ones end or are retried later', async () => {
  const answers: Record<string, number> = { pending: 500, dead: 410, delivered: 204 };
  const statuses = Object.keys(answers);
  const server = await use.integrator(({ webhookId }) => {
    const status = answers[webhookId.split('-')[0] ?? ''] ?? 204;
    // The older callback waits the longest.
    return {
      status,
      ...(webhookId.endsWith('older') && status === 500 && { headers: { 'retry-after': '60' } }),
    };
  });
  use.pointTo('a-1', server);
  const notifier = await use.world.start({
    ...{ NOTIFIER_FAILING_AFTER: '1000', NOTIFIER_BACKOFF_FIRST_MS: '60000' },
    ...{ NOTIFIER_BACKOFF_MAX_MS: '60000' },
  });
  const nowMs = Date.now();
  const list = async (state: string, limit: number) => {
    const { deliveries } = await notifier.admin.listDeliveries({
      applicationId: 'a-1',
      status: state,
      limit,
    });
    return deliveries.map((d) => d.notificationId);
  };
  for (const [name, agoMs] of [['new', 1000] as const, ['older', 60_000] as const]) {
    // The pending callback last, because its Retry-After delays all others.
    for (const state of [...statuses].reverse()) {
      const notificationId = `${state}-${name}`;
      const createdAtMs = BigInt(nowMs - agoMs);
      await use.world.publish({ notificationId, applicationId: 'a-1', createdAtMs });
      await waitFor(`the first attempt of ${notificationId}`, async () => {
        const { delivery } = await notifier.admin
          .getDelivery({ notificationId })
          .catch(() => ({ delivery: undefined }));
        return delivery?.status === state && delivery.attempts > 0;
      });
    }
  }
  for (const state of statuses) expect(await list(state, 1)).toEqual([`${state}-new`]);
  expect(new Set(await list('', 3))).toEqual(new Set(statuses.map((state) => `${state}-new`)));
});
