import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';

interface FeedEvent {
  readonly webhookId: string;
  readonly type: string;
  readonly deviceId: string | null;
  readonly body: string;
  readonly createdAt: string;
  readonly resend?: number;
}

/** All events that a reader gets after a cursor. */
async function readAll(tenant: Tenant, after = '', limit = 100, filter = '') {
  const events: FeedEvent[] = [];
  for (let cursor = after; ; ) {
    const query = `limit=${limit}${cursor === '' ? '' : `&after=${cursor}`}${filter}`;
    const { body } = await tenant.call(200, 'GET', `/events?${query}`);
    events.push(...body.events);
    cursor = body.cursor;
    if (!body.more) return { events, cursor };
  }
}

const ids = (events: readonly FeedEvent[]) => events.map(({ webhookId }) => webhookId);

describeOnStack('the event feed', () => {
  // proves ext/feed/all, ext/feed/order
  it('contains every callback once, exactly as sent, and the callbacks of a transaction in order', async () => {
    const tenant = await createTenant();
    const headset = tenant.headset();
    const activation = await tenant.activate();
    headset.connect();
    await tenant.ended(activation);
    const commands: number[] = [];
    for (let i = 0; i < 5; i++) commands.push(await tenant.command());
    await Promise.all(commands.map((id) => tenant.ended(id)));
    headset.report({ case: 'stateChange', value: { power: 'started' } });
    await waitFor('the notification', () =>
      tenant.integrator.received.some(({ body }) => body.operationId === 'notify-boot'),
    );
    const arrived = () => new Set(tenant.integrator.received.map(({ webhookId }) => webhookId));
    const { events } = await waitFor('all of them in the feed', async () => {
      const read = await readAll(tenant);
      return read.events.length >= arrived().size && read;
    });
    expect(new Set(ids(events))).toEqual(arrived());
    expect(new Set(ids(events)).size).toBe(events.length);
    for (const event of events) {
      const sent = tenant.integrator.received.find(({ webhookId }) => webhookId === event.webhookId);
      expect(event.body).toBe(sent?.rawBody);
      expect(event.deviceId).toBe(tenant.devices[0]?.deviceId);
    }
    for (const id of commands) {
      const own = events.filter(({ webhookId }) => webhookId.startsWith(`tx-${id}-`));
      expect(ids(own)).toEqual([`tx-${id}-accepted`, `tx-${id}-processed`]);
      expect(own.map(({ type }) => type)).toEqual(['notify-transaction-result', 'notify-transaction-result']);
    }
    expect(ids((await readAll(tenant, '', 3)).events)).toEqual(ids(events));
    const boots = await readAll(tenant, '', 100, '&types=notify-boot');
    expect(boots.events.map(({ type }) => type)).toEqual(['notify-boot']);
    expect((await readAll(tenant, '', 100, '&deviceId=350000000000001')).events).toEqual([]);
    await tenant.close();
  });

  // proves ext/feed/alone
  it('has all events for an application without any endpoint, and a reader that continues from its cursor sees each event once', async () => {
    const tenant = await createTenant();
    const headset = tenant.headset();
    const activation = await tenant.activate();
    headset.connect();
    await tenant.ended(activation);
    await tenant.call(200, 'PATCH', '', { deviceEvent: null });
    const began = await readAll(tenant);
    const values = Array.from({ length: 30 }, (_, i) => `value ${i}`);
    const seen: FeedEvent[] = [];
    let cursor = began.cursor;
    const look = async () => {
      const read = await readAll(tenant, cursor, 4);
      seen.push(...read.events);
      cursor = read.cursor;
    };
    const seesUpTo = (customData: string) =>
      waitFor(`the event with ${customData}`, async () => {
        await look();
        return seen.some(({ body }) => JSON.parse(body).customData === customData);
      });
    for (const [i, customData] of values.entries()) {
      headset.report({ case: 'customData', value: { success: true, customData } });
      if (i % 3 === 0) await look();
      // Further events are reported while the reader has none, some or all of the previous ones.
      if (i % 10 === 9) await seesUpTo(customData);
    }
    const own = seen.filter(({ type }) => type === 'notify-custom-data');
    expect(own.map(({ body }) => JSON.parse(body).customData)).toEqual(values);
    expect(new Set(ids(seen)).size).toBe(seen.length);
    expect(ids((await readAll(tenant)).events)).toEqual([...ids(began.events), ...ids(seen)]);
    await tenant.close();
  });

  // proves ext/feed/from
  it('starts at a requested time; for a future time at the end of the feed', async () => {
    const tenant = await createTenant();
    const headset = tenant.headset();
    const activation = await tenant.activate();
    headset.connect();
    await tenant.ended(activation);
    const { events } = await waitFor('all of it in the feed', async () => {
      const read = await readAll(tenant);
      const types = new Set(read.events.map(({ type }) => type));
      return ids(read.events).includes(`tx-${activation}-processed`) && types.size === 2 && read;
    });
    const last = events.at(-1)?.createdAt;
    const since = await tenant.call(200, 'GET', `/events?from=${last}`);
    expect(since.body.events.at(-1)).toEqual(events.at(-1));
    const { body } = await tenant.call(200, 'GET', '/events?from=9999-12-31T00:00:00Z');
    expect(body).toMatchObject({ events: [], more: false });
    headset.report({ case: 'customData', value: { success: true, customData: 'new' } });
    await waitFor('the new event', async () => {
      const read = await readAll(tenant, body.cursor);
      return read.events.some(({ type }) => type === 'notify-custom-data');
    });
    await tenant.call(400, 'GET', `/events?after=${body.cursor}&from=${last}`);
    await tenant.call(400, 'GET', '/events?from=2026-02-30T00:00:00Z');
    await tenant.close();
  });

  // proves ext/feed/cursors
  // protects against rest/other-events
  it('rejects cursors that are unknown, changed, of another application or of other filters, and explains how to continue', async () => {
    const [tenant, other] = await Promise.all([createTenant(), createTenant()]);
    const { cursor } = await readAll(tenant);
    await readAll(other);
    const text = Buffer.from(cursor, 'base64url').toString();
    const changed = [
      'x',
      'MS4',
      Buffer.from(text.replace(/^2\.\d+/, '2.9999999999999')).toString('base64url'),
      Buffer.from(`${text}.more`).toString('base64url'),
    ];
    for (const after of changed) {
      const { body } = await tenant.call(400, 'GET', `/events?after=${after}`);
      expect(body.message).toMatch(/Read without after/);
    }
    expect((await other.call(400, 'GET', `/events?after=${cursor}`)).body.message).toMatch(
      /another application/,
    );
    expect((await tenant.call(400, 'GET', `/events?after=${cursor}&types=notify-boot`)).body.message).toMatch(
      /other filters/,
    );
    expect((await tenant.call(200, 'GET', `/events?after=${cursor}`)).body.more).toBe(false);
    await Promise.all([tenant.close(), other.close()]);
  });
});

describeOnStack('deliveries', () => {
  // proves ext/deliveries/list, ext/deliveries/attempts, ext/deliveries/redeliver
  it('show an integrator why a callback did not arrive, and send it again', async () => {
    let open = false;
    const tenant = await createTenant({
      answer: () => (open ? { status: 204 } : { status: 410, body: 'we have moved' }),
    });
    const activation = await tenant.activate();
    tenant.headset().connect();
    const id = `tx-${activation}-processed`;
    const found = await waitFor('its end', async () => {
      const { body } = await tenant.call(200, 'GET', `/deliveries?state=dead&transactionId=${activation}`);
      return body.deliveries.find(({ webhookId }: { webhookId: string }) => webhookId === id);
    });
    expect(found).toMatchObject({
      ...{ type: 'notify-transaction-result', destination: 'deviceEvent', transactionId: activation },
      ...{ state: 'dead', attemptCount: 1, nextAttemptAt: null },
      lastAttempt: { status: 410, reason: 'gone', answer: 'we have moved' },
    });
    const { body: detail } = await tenant.call(200, 'GET', `/deliveries/${id}`);
    expect(detail.attempts).toHaveLength(1);
    expect(JSON.parse(detail.body)).toMatchObject({ transactionId: activation });
    open = true;
    const headers = { 'idempotency-key': 'again-1' };
    const sent = await tenant.call(200, 'POST', `/deliveries/${id}/redeliver`, {}, headers);
    expect(sent.body).toMatchObject({ webhookId: id, state: 'pending' });
    await tenant.call(200, 'POST', `/deliveries/${id}/redeliver`, {}, headers);
    await tenant.ended(activation);
    const arrivals = tenant.integrator.arrivals.filter(({ webhookId }) => webhookId === id);
    expect(arrivals.map(({ answered }) => answered)).toEqual([410, 204]);
    await tenant.close();
  });

  // proves ext/deliveries/force
  // protects against rest/other-events
  it('that never failed require force, and deliveries of another application are not found', async () => {
    const [tenant, other] = await Promise.all([createTenant(), createTenant()]);
    const activation = await tenant.activate();
    tenant.headset().connect();
    await tenant.ended(activation);
    const id = `tx-${activation}-processed`;
    await waitFor('its record', async () => {
      const { status, body } = await tenant.api.app('GET', `/deliveries/${id}`);
      return status === 200 && body.state === 'delivered';
    });
    const { body } = await tenant.call(409, 'POST', `/deliveries/${id}/redeliver`, {});
    expect(body.message).toContain('"force": true');
    await tenant.call(400, 'POST', `/deliveries/${id}/redeliver`, { force: 'yes' });
    await tenant.call(200, 'POST', `/deliveries/${id}/redeliver`, { force: true });
    await waitFor(
      'the second arrival',
      () => tenant.integrator.arrivals.filter(({ webhookId }) => webhookId === id).length === 2,
    );
    await other.call(404, 'GET', `/deliveries/${id}`);
    await other.call(404, 'POST', `/deliveries/${id}/redeliver`, { force: true });
    expect((await other.call(200, 'GET', `/deliveries?transactionId=${activation}`)).body.deliveries).toEqual(
      [],
    );
    await Promise.all([tenant.close(), other.close()]);
  });

  // proves ext/deliveries/recover, ext/feed/resends
  it('that became dead during an outage of the endpoint are recovered together, each once; those beyond the limit are counted', async () => {
    let open = false;
    const tenant = await createTenant({ answer: () => ({ status: open ? 204 : 410 }) });
    const since = new Date(ago(60_000)).toISOString();
    const activation = await tenant.activate();
    const headset = tenant.headset();
    headset.connect();
    const dead = async () =>
      (await tenant.call(200, 'GET', '/deliveries?state=dead')).body.deliveries.map(
        ({ webhookId }: { webhookId: string }) => webhookId,
      );
    await waitFor('the end of the activation', async () =>
      (await dead()).includes(`tx-${activation}-processed`),
    );
    for (let i = 0; i < 5; i++)
      headset.report({ case: 'customData', value: { success: true, customData: `${i}` } });
    await waitFor('all to be given up', async () => {
      const { body } = await tenant.call(200, 'GET', '/deliveries?state=dead&types=notify-custom-data');
      return body.deliveries.length === 5;
    });
    const lost: string[] = await dead();
    await readAll(tenant);
    const dry = await tenant.call(200, 'POST', '/deliveries/recover', { since, dryRun: true });
    expect(dry.body).toEqual({ count: lost.length, recovery: null });
    open = true;
    const { body } = await tenant.call(200, 'POST', '/deliveries/recover', { since });
    expect(body).toMatchObject({ count: lost.length, recovery: { total: lost.length, endedAt: null } });
    const { recoveryId } = body.recovery;
    await waitFor('its end', async () => {
      const read = await tenant.call(200, 'GET', `/recoveries/${recoveryId}`);
      return read.body.state === 'ended' && read.body.done === lost.length;
    });
    const taken = (id: string) =>
      tenant.integrator.arrivals.filter(({ webhookId, answered }) => webhookId === id && answered === 204)
        .length;
    await waitFor('all of them', () => lost.every((id) => taken(id) > 0));
    expect(lost.map(taken)).toEqual(lost.map(() => 1));
    const once = await readAll(tenant);
    expect(new Set(ids(once.events)).size).toBe(once.events.length);
    const all = await readAll(tenant, '', 100, '&resends=true');
    const again = all.events.filter(({ resend }) => resend === 1);
    expect(ids(again).toSorted()).toEqual(lost.toSorted());
    for (const { resend: _, ...event } of again) expect(once.events).toContainEqual(event);
    expect(all.events.filter(({ resend }) => resend === undefined)).toEqual(once.events);
    const other = await createTenant();
    await other.call(404, 'GET', `/recoveries/${recoveryId}`);
    await Promise.all([tenant.close(), other.close()]);
  });
});
