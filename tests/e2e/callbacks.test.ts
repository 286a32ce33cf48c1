import { createHmac } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctl, ctlJson } from './ctl.ts';
import { admin, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { type Arrival, type Receiver, type Reply, startReceiver } from './receiver.ts';

describeOnStack('callbacks', () => {
  let tenant: Tenant;
  const receivers: Receiver[] = [];
  beforeAll(async () => {
    tenant = await createTenant();
    await tenant.activate();
    const headset = tenant.headset();
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
  });
  afterAll(async () => {
    await tenant.close();
    await Promise.all(receivers.map((r) => r.close()));
  });

  /** Sends the tenant's callbacks to a receiver of this test from now on. */
  async function receiver(
    reply: (arrival: Arrival, earlier: readonly Arrival[]) => Reply | Promise<Reply>,
    of = tenant,
  ): Promise<Receiver> {
    const made = await startReceiver(reply);
    receivers.push(made);
    await of.call(200, 'PATCH', '', { deviceEvent: made.url });
    return made;
  }
  const arrivalsOf = (r: Receiver, transactionId: number) =>
    r.arrivals.filter((a) => a.body.transactionId === transactionId);
  const arrived = (r: Receiver, id: number, count: number) =>
    waitFor(`${count} arrivals`, () => {
      const found = arrivalsOf(r, id);
      return found.length >= count && found;
    });
  /** A command without anything to call ends at once, with one callback. */
  const failingCommand = async (of = tenant): Promise<number> =>
    (await of.call(201, 'PUT', `/devices/${of.devices[0]?.deviceId}/commands`, { launchType: 'activity' }))
      .body.transactionId;
  const currentKey = async (): Promise<string> => (await tenant.call(200, 'GET', '')).body.authenticationKey;
  const hmac = (key: string, encoding: 'hex' | 'base64', ...parts: (string | Buffer)[]) => {
    const made = createHmac('sha256', key);
    for (const part of parts) made.update(part);
    return made.digest(encoding);
  };
  /** Undefined: a callback that was sent at once is not stored yet (ADR 0050). */
  const record = async (notificationId: string) => {
    try {
      return await admin().notifier.getDelivery({ notificationId });
    } catch (error) {
      if (ConnectError.from(error).code === Code.NotFound) return undefined;
      throw error;
    }
  };
  const delivery = async (notificationId: string) => (await record(notificationId))?.delivery;
  const deliveriesOf = async (of: Tenant) =>
    (await admin().notifier.listDeliveries({ applicationId: of.applicationId })).deliveries;

  // proves cb/6/signature, cb/6/application-header, cb/7/post
  // protects against callbacks/forged
  it('are POSTed as JSON to the exact URL, with the application and both signatures over the exact bytes', async () => {
    const taking = await receiver(() => 200);
    const fromMs = Date.now();
    const id = await failingCommand();
    const [arrival] = await arrived(taking, id, 1);
    const untilMs = Date.now();
    const { method, path, headers, headerNames, bytes, body } = arrival as Arrival;
    const key = await currentKey();
    expect({ method, path }).toEqual({ method: 'POST', path: '/hook?source=cloud' });
    // Some servers compare header names case-sensitively (rule A22).
    expect(headerNames).toEqual(expect.arrayContaining(['X-TLPF-NOTIFICATION-KEY', 'applicationId']));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      applicationid: tenant.applicationId,
      'x-tlpf-notification-key': hmac(key, 'hex', bytes),
      'webhook-id': `tx-${id}-processed`,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': `v1,${hmac(key, 'base64', `${headers['webhook-id']}.${headers['webhook-timestamp']}.`, bytes)}`,
    });
    const sentAt = Number(headers['webhook-timestamp']);
    expect(sentAt).toBeGreaterThanOrEqual(Math.floor(fromMs / 1000));
    expect(sentAt).toBeLessThanOrEqual(Math.floor(untilMs / 1000));
    expect(body).toEqual({
      applicationId: tenant.applicationId,
      deviceId: tenant.devices[0]?.deviceId,
      timestamp: expect.any(Number),
      transactionId: id,
      operationId: 'put-v1-applications-devices-commands',
      notificationType: 'processed',
      result: 'failure',
      message: 'None of action, package and classpath is given.',
    });
    expect(body.timestamp).toBeGreaterThanOrEqual(fromMs);
    expect(body.timestamp).toBeLessThanOrEqual(untilMs);
  });

  // Rule A22.
  it('reach an endpoint whose URL scheme is in upper case', async () => {
    const taking = await receiver(() => 200);
    const deviceEvent = taking.url.replace('http:', 'HTTP:');
    expect((await tenant.call(200, 'PATCH', '', { deviceEvent })).body).toMatchObject({ deviceEvent });
    await arrived(taking, await failingCommand(), 1);
  });

  it.each([200, 201, 202, 204, 299])(
    'after the answer %d the callback is delivered and not sent again',
    async (status) => {
      const taking = await receiver(() => status);
      const id = await failingCommand();
      await arrived(taking, id, 1);
      const delivered = await waitFor('the record', async () => {
        const found = await delivery(`tx-${id}-processed`);
        return found?.status === 'delivered' && found;
      });
      expect(delivered).toMatchObject({ attempts: 1, lastOutcome: String(status) });
      expect(arrivalsOf(taking, id)).toHaveLength(1);
    },
  );

  it.each([300, 304, 400, 401, 404, 429, 500])(
    'the answer %d is a failure: the same id and bytes are sent again until the endpoint accepts them',
    async (status) => {
      const failing = await receiver((_, earlier) => (earlier.length < 2 ? status : 200));
      const id = await failingCommand();
      const [first, second, third] = await arrived(failing, id, 3);
      for (const again of [second, third]) {
        expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
        expect(again?.bytes.equals(first?.bytes as Buffer)).toBe(true);
      }
    },
  );

  // protects against callbacks/ssrf-redirect
  it('a redirect is not followed', async () => {
    const elsewhere = await startReceiver(() => 200);
    receivers.push(elsewhere);
    const redirecting = await receiver((_, earlier) =>
      earlier.length < 2
        ? (response) =>
            response.writeHead(earlier.length === 0 ? 307 : 302, { location: elsewhere.url }).end()
        : 200,
    );
    const id = await failingCommand();
    await arrived(redirecting, id, 3);
    expect(elsewhere.arrivals).toEqual([]);
  });

  // protects against callbacks/endless-answer
  it('an endless or interrupted answer does not delay the callbacks', async () => {
    const chatty = await receiver(() => (response) => {
      response.writeHead(200);
      response.write(Buffer.alloc(1024 * 1024));
    });
    const first = await failingCommand();
    const second = await failingCommand();
    await arrived(chatty, first, 1);
    await arrived(chatty, second, 1);
    await waitFor('both to be delivered', async () => {
      const both = await Promise.all([first, second].map((id) => delivery(`tx-${id}-processed`)));
      return both.every((d) => d?.status === 'delivered');
    });
    const cutting = await receiver((_, earlier) =>
      earlier.length === 0 ? (response) => response.destroy() : 200,
    );
    await arrived(cutting, await failingCommand(), 2);
  });

  it('410 ends the delivery as dead, which is visible, and an operator’s redelivery sends the same callback again', async () => {
    let gone = true;
    const ending = await receiver(() => (gone ? 410 : 200));
    const id = await failingCommand();
    const notification = `tx-${id}-processed`;
    const [first] = await arrived(ending, id, 1);
    const dead = await waitFor('the dead delivery', async () => {
      const { deliveries } = await ctlJson(
        ...['deliveries', 'list', '--application', tenant.applicationId, '--state', 'dead'],
      );
      return deliveries.find((d: { notificationId: string }) => d.notificationId === notification);
    });
    expect(dead).toEqual({
      notificationId: notification,
      applicationId: tenant.applicationId,
      destination: 'deviceEvent',
      orderKey: `tx-${id}`,
      status: 'dead',
      attempts: 1,
      createdAtMs: String(first?.body.timestamp),
      nextAttemptAtMs: '0',
      deliveredAtMs: '0',
      lastOutcome: 'answered 410',
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    });
    const shown = await ctlJson('deliveries', 'show', notification);
    expect(shown).toEqual({
      delivery: dead,
      recentAttempts: [
        {
          atMs: expect.stringMatching(/^\d{13}$/),
          durationMs: expect.any(Number),
          statusCode: 410,
          error: 'answered 410',
          host: dead.host,
        },
      ],
      body: first?.bytes.toString('utf8'),
    });

    // Another callback is accepted: the first one is still not sent again automatically.
    gone = false;
    await arrived(ending, await failingCommand(), 1);
    expect(arrivalsOf(ending, id)).toHaveLength(1);

    expect((await ctl('deliveries', 'redeliver', notification)).exitCode).toBe(0);
    const [, again] = await arrived(ending, id, 2);
    expect(again?.bytes.equals(first?.bytes as Buffer)).toBe(true);
    expect(again?.headers['webhook-id']).toBe(notification);
    await waitFor('the record', async () => (await delivery(notification))?.status === 'delivered');
  });

  it('503 with Retry-After: the next attempt is not due earlier', async () => {
    const other = await createTenant();
    try {
      const id = await other.activate();
      const busy: Reply = (response) => response.writeHead(503, { 'retry-after': '600' }).end();
      await receiver(() => busy, other);
      await other.call(200, 'DELETE', `/devices/${other.devices[0]?.deviceId}/transactions`);
      const { delivery: waiting, recentAttempts } = await waitFor('the record', async () => {
        const found = await record(`tx-${id}-canceled`);
        return found && found.recentAttempts.length > 0 && found;
      });
      expect(waiting).toMatchObject({ status: 'pending', attempts: 1 });
      const attemptedAtMs = recentAttempts[0]?.atMs ?? 0n;
      expect(waiting?.nextAttemptAtMs).toBeGreaterThanOrEqual(attemptedAtMs + 600_000n);
    } finally {
      await other.close();
    }
  });

  // proves api/4/new-key
  it('each attempt is signed with the current key at that time', async () => {
    const oldKey = await currentKey();
    const answered = Promise.withResolvers<Reply>();
    const rotating = await receiver((_, earlier) => (earlier.length === 0 ? answered.promise : 200));
    const id = await failingCommand();
    const [first] = await arrived(rotating, id, 1);
    const { body } = await tenant.call(201, 'POST', '/refresh_authkey');
    answered.resolve(500);
    const [, second] = await arrived(rotating, id, 2);
    const signature = (key: string, a?: Arrival) => hmac(key, 'hex', a?.bytes ?? '');
    expect(first?.headers['x-tlpf-notification-key']).toBe(signature(oldKey, first));
    expect(second?.headers['x-tlpf-notification-key']).toBe(signature(body.authenticationKey, second));
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  it('of one transaction arrive in order, also while the first callback fails', async () => {
    const failing = await receiver((arrival, earlier) =>
      arrival.body.notificationType === 'accepted' && earlier.length < 3 ? 500 : 200,
    );
    const id = await tenant.command();
    await waitFor('the end', () =>
      arrivalsOf(failing, id).some((a) => a.body.notificationType === 'processed'),
    );
    expect(arrivalsOf(failing, id).map((a) => a.body.notificationType)).toEqual([
      ...['accepted', 'accepted', 'accepted', 'accepted', 'processed'],
    ]);
  });

  // protects against callbacks/dead-server
  it('one integrator’s dead server does not delay the callbacks of another', async () => {
    const other = await createTenant();
    try {
      await other.activate();
      let givenUp = 0;
      const hanging = await receiver(
        () => (response) => {
          response.once('close', () => {
            givenUp += 1;
          });
        },
        other,
      );
      for (let i = 0; i < 20; i++) await failingCommand(other);
      await waitFor('the dead server to be asked', () => hanging.arrivals.length > 0);
      let givenUpBefore: number | undefined;
      const taking = await receiver(() => {
        givenUpBefore ??= givenUp;
        return 200;
      });
      await arrived(taking, await failingCommand(), 1);
      // No request to the dead server has ended, so this callback has not waited for any of them.
      expect(givenUpBefore).toBe(0);
    } finally {
      await other.close();
    }
  });

  // protects against callbacks/ssrf-addresses, callbacks/ssrf-spellings
  it.each([
    ...['http://10.0.0.1/', 'http://192.168.1.1:8080/', 'http://169.254.169.254/latest/meta-data'],
    ...['http://0.0.0.0/', 'http://[::ffff:10.0.0.1]/', 'http://[fd00::1]/', 'http://0x0a000001/'],
    ...['http://167772161/', 'http://a.example:80@10.0.0.1/', 'http://[100:0:0:1::1]/', 'http://[4000::1]/'],
  ])('the address %s is not public: it is 400 with the reason, and the destination stays', async (url) => {
    const before = (await tenant.call(200, 'GET', '')).body;
    for (const name of ['deviceEvent', 'fileUploadGetUrl']) {
      const answer = await tenant.call(400, 'PATCH', '', { soraEvent: 'https://a.example', [name]: url });
      expect(answer.body).toEqual({ message: 'Invalid request body' });
      expect(answer.headers['x-error-detail']).toBe(
        `/${name} must be on a public address; nothing is sent to any other.`,
      );
    }
    expect((await tenant.call(200, 'GET', '')).body).toEqual(before);
  });

  it('wait while the endpoint is not set, and are sent once it is set', async () => {
    const other = await createTenant();
    try {
      const id = await other.activate();
      await other.call(200, 'PATCH', '', { deviceEvent: null });
      await other.call(200, 'DELETE', `/devices/${other.devices[0]?.deviceId}/transactions`);
      const waiting = await waitFor('the delivery', async () => (await deliveriesOf(other))[0]);
      expect(waiting).toMatchObject({
        notificationId: `tx-${id}-canceled`,
        status: 'pending',
        attempts: 0,
        lastOutcome: '',
      });
      await other.call(200, 'PATCH', '', { deviceEvent: other.integrator.url });
      expect(await other.ended(id)).toMatchObject({ result: 'failure' });
      expect(other.integrator.arrivals).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});
