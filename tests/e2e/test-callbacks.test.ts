import { admin, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { type Receiver, startReceiver } from './receiver.ts';

describeOnStack('test callbacks', () => {
  let tenant: Tenant;
  const receivers: Receiver[] = [];
  beforeEach(async () => {
    tenant = await createTenant();
  });
  afterEach(async () => {
    await tenant.close();
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  });
  const boot = { type: 'notify-boot', destination: 'deviceEvent' };
  const send = async (body: object, headers?: Record<string, string>) =>
    (await tenant.call(200, 'POST', '/test_callbacks', body, headers)).body;

  // proves ext/test-callbacks/sent, ext/test-callbacks/verify
  it('arrives verified at the registered URL, creates no delivery, and a wrong signature is rejected', async () => {
    const result = await send({ ...boot, verify: true });
    const [right, wrong] = tenant.integrator.arrivals;
    expect(tenant.integrator.arrivals).toHaveLength(2);
    expect(right).toMatchObject({ verified: true, webhookId: result.webhookId, body: result.body });
    expect(right?.applicationId).toBe(tenant.applicationId);
    expect(wrong).toMatchObject({ verified: false, answered: 401 });
    expect(result).toMatchObject({ statusCode: 204, reason: null, verification: { refused: true } });
    const { deliveries } = await admin().notifier.listDeliveries({ applicationId: tenant.applicationId });
    expect(deliveries).toEqual([]);
  });

  it('every type of the catalogue is sent to its destination', async () => {
    const events = ['soraEvent', 'soraFileSendEvent', 'fileUploadEvent'];
    await tenant.call(
      ...([200, 'PATCH', ''] as const),
      Object.fromEntries(events.map((name) => [name, `${tenant.integrator.origin}/${name}`])),
    );
    const { eventTypes } = (await tenant.call(200, 'GET', '/event_types')).body;
    for (const type of ['notify-sora-event', 'notify-recording', 'notify-file-upload']) {
      const { destination } = eventTypes.find((one: { type: string }) => one.type === type);
      const result = await send({ type, destination });
      expect(result.statusCode).toBe(204);
      expect(tenant.integrator.arrivals.at(-1)).toMatchObject({ verified: true, path: `/${destination}` });
    }
  });

  it('an unset setting is 404', async () => {
    await tenant.call(404, 'POST', '/test_callbacks', {
      type: 'notify-sora-event',
      destination: 'soraEvent',
    });
  });

  // proves ext/test-callbacks/result
  // protects against callbacks/test-endless
  it('if a receiver answers with 10 MB, the result contains the beginning of the answer', async () => {
    const large = await startReceiver(() => (response) => response.end(Buffer.alloc(10_485_760, 'z')));
    receivers.push(large);
    await tenant.call(200, 'PATCH', '', { deviceEvent: large.url });
    expect(await send(boot)).toMatchObject({
      ...{ statusCode: 200, answer: 'z'.repeat(1024), answerTruncated: true, tls: null },
    });
  });

  // proves ext/test-callbacks/limit
  // protects against callbacks/test-flood
  it('of six concurrent calls at least one is 429 with Retry-After, and another application is served', async () => {
    const open: (() => void)[] = [];
    const slow = await startReceiver(() => (response) => void open.push(() => response.end()));
    receivers.push(slow);
    await tenant.call(200, 'PATCH', '', { deviceEvent: slow.url });
    // More calls, for the capacity of the other instances.
    const most = 5 * Number(process.env['INSTANCES'] ?? 1);
    const answers = Array.from({ length: most + 1 }, () => tenant.api.app('POST', '/test_callbacks', boot));
    const refused = await Promise.any(
      answers.map(async (one) => {
        const answer = await one;
        if (answer.status !== 429) throw new Error(String(answer.status));
        return answer;
      }),
    );
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.headers['ratelimit-policy']).toContain('"test-callbacks"');
    const other = await createTenant();
    expect((await other.call(200, 'POST', '/test_callbacks', boot)).body.statusCode).toBe(204);
    await other.close();
    for (const one of open) one();
    const statuses = (await Promise.all(answers)).map((answer) => answer.status);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(most);
  });

  it('a repeat under its Idempotency-Key gets the same answer, and the receiver gets no second request', async () => {
    const key = { 'idempotency-key': 'one' };
    const first = await send(boot, key);
    expect(await send(boot, key)).toEqual(first);
    expect(tenant.integrator.arrivals).toHaveLength(1);
    await tenant.call(422, 'POST', '/test_callbacks', { ...boot, verify: true }, key);
  });
});
