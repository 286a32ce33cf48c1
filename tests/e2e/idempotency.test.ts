import { randomUUID } from 'node:crypto';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

/** A call that accepts an Idempotency-Key, and another body for it if it has one. */
interface Keyed {
  readonly name: string;
  readonly status: number;
  readonly method: string;
  readonly path: () => string;
  readonly body?: object;
  readonly other?: object;
}

const reused = { message: 'The Idempotency-Key was used with another request body.' };

describeOnStack('Idempotency-Key', () => {
  let tenant: Tenant;
  let device: string;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 6 });
    device = tenant.devices[0]?.deviceId ?? '';
  });
  afterAll(() => tenant.close());

  const send = (status: number, call: Keyed, key: string, body = call.body) =>
    tenant.call(status, call.method, call.path(), body, { 'idempotency-key': key });

  const activation: Keyed = {
    ...{ name: 'activation', status: 201, method: 'POST', path: () => `/devices/${device}` },
    ...{ body: { clientId: `app-${randomUUID()}` }, other: { clientId: `app-${randomUUID()}` } },
  };
  const command: Keyed = {
    ...{ name: 'command', status: 201, method: 'PUT', path: () => `/devices/${device}/commands` },
    body: { package: 'a', launchType: 'activity' },
    other: { package: 'b', launchType: 'activity' },
  };
  const patch: Keyed = {
    ...{ name: 'PATCH settings', status: 200, method: 'PATCH', path: () => '' },
    ...{ body: { soraEvent: 'https://a.example.com/' }, other: { soraEvent: null } },
  };
  const refresh: Keyed = {
    ...{ name: 'refresh_authkey', status: 201, method: 'POST', path: () => '/refresh_authkey' },
  };
  const cancel: Keyed = {
    ...{ name: 'cancel', status: 200, method: 'DELETE', path: () => `/devices/${device}/transactions` },
  };
  const deactivation: Keyed = {
    ...{ name: 'deactivation', status: 201, method: 'DELETE', path: () => `/devices/${device}` },
  };

  it.each([activation, command])(
    '$name: a repeat gets the same answer with Location, and creates no second transaction',
    async (call) => {
      const key = randomUUID();
      const before = await tenant.transactions();
      const first = await send(call.status, call, key);
      for (let i = 0; i < 3; i++) {
        const again = await send(call.status, call, key);
        expect(again.body).toEqual(first.body);
        expect(again.headers['location']).toBe(first.headers['location']);
      }
      const ids = (await tenant.transactions()).map((t) => t.transactionId);
      expect(ids).toEqual([...before.map((t) => t.transactionId), first.body.transactionId]);
      const fresh = await send(call.status, call, randomUUID());
      expect(fresh.body.transactionId).toBeGreaterThan(first.body.transactionId);
    },
  );

  // protects against rest/repeat
  it('repeats at the same moment are one call', async () => {
    const key = randomUUID();
    const before = (await tenant.transactions()).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(201, command, key)));
    expect(new Set(answers.map((a) => a.body.transactionId)).size).toBe(1);
    expect((await tenant.transactions()).length).toBe(before + 1);
  });

  it('PATCH: a repeat returns the first answer and does not undo a later change', async () => {
    const key = randomUUID();
    const first = await send(200, patch, key);
    expect(first.body).toMatchObject({ soraEvent: 'https://a.example.com/' });
    await tenant.call(200, 'PATCH', '', { soraEvent: 'https://later.example.com/' });
    expect((await send(200, patch, key)).body).toEqual(first.body);
    expect((await tenant.call(200, 'GET', '')).body).toMatchObject({
      soraEvent: 'https://later.example.com/',
    });
  });

  it('refresh_authkey: a repeat returns the same key and issues no other', async () => {
    const key = randomUUID();
    const first = await send(201, refresh, key);
    tenant.integrator.keys.push(first.body.authenticationKey);
    expect((await send(201, refresh, key)).body).toEqual(first.body);
    expect((await tenant.call(200, 'GET', '')).body.authenticationKey).toBe(first.body.authenticationKey);
    const second = await send(201, refresh, randomUUID());
    tenant.integrator.keys.push(second.body.authenticationKey);
    expect(second.body.authenticationKey).not.toBe(first.body.authenticationKey);
    // The repeat returns the old answer and does not restore the old key.
    expect((await send(201, refresh, key)).body).toEqual(first.body);
    expect((await tenant.call(200, 'GET', '')).body.authenticationKey).toBe(second.body.authenticationKey);
  });

  it('cancel: a repeat returns the transactions that the first call canceled, and cancels no later ones', async () => {
    const key = randomUUID();
    const first = await send(200, cancel, key);
    expect(first.body.canceledTransactions).not.toEqual([]);
    // The activation is canceled too, and therefore undone (ADR 0063).
    const again = await send(201, activation, randomUUID());
    const later = await send(201, command, randomUUID());
    const ids = [again.body.transactionId, later.body.transactionId];
    expect((await send(200, cancel, key)).body).toEqual(first.body);
    for (const id of ids) expect(await tenant.status(id)).not.toBe('canceled');
    expect((await send(200, cancel, randomUUID())).body).toEqual({ canceledTransactions: ids });
    await send(201, activation, randomUUID());
  });

  it('deactivation: a repeat returns the same answer after the device was activated again, and leaves it activated', async () => {
    const key = randomUUID();
    const first = await send(201, deactivation, key);
    expect((await send(201, deactivation, key)).body).toEqual(first.body);
    await send(201, activation, randomUUID());
    expect((await send(201, deactivation, key)).body).toEqual(first.body);
    expect((await tenant.call(200, 'GET', `/devices/${device}`)).body).toMatchObject({ activated: true });
  });

  // protects against rest/repeat
  it.each([activation, command, patch])('$name: another body with the key is 422', async (call) => {
    const key = randomUUID();
    await send(call.status, call, key);
    const before = await tenant.transactions();
    expect((await send(422, call, key, call.other)).body).toEqual(reused);
    // The same value in another spelling is another body: the bytes are compared.
    const spaced = JSON.stringify(call.body, null, 1);
    const answer = await tenant.call(422, call.method, call.path(), spaced, { 'idempotency-key': key });
    expect(answer.body).toEqual(reused);
    expect(await tenant.transactions()).toEqual(before);
  });

  it.each([refresh, cancel])('$name: a body with the key of a call without a body is 422', async (call) => {
    const key = randomUUID();
    const { body } = await send(call.status, call, key);
    if (body.authenticationKey) tenant.integrator.keys.push(body.authenticationKey);
    expect((await send(422, call, key, { any: 1 })).body).toEqual(reused);
    await send(201, activation, randomUUID());
  });

  it('another query with the key is 422; another spelling of the path is the same call', async () => {
    const path = `/devices/${device}/connectivity`;
    const header = { 'idempotency-key': randomUUID() };
    const first = await tenant.call(201, 'GET', `${path}?target=all`, undefined, header);
    const other = await tenant.call(422, 'GET', `${path}?target=connected`, undefined, header);
    expect(other.body).toEqual(reused);
    expect((await tenant.call(201, 'GET', `${path}?target=%61ll`, undefined, header)).body).toEqual(
      first.body,
    );
    const escaped = `/devices/%3${device[0]}${device.slice(1)}/connectivity?target=all`;
    expect((await tenant.call(201, 'GET', escaped, undefined, header)).body).toEqual(first.body);
  });

  it('a 4xx answer is not stored: the call can be corrected under the same key', async () => {
    const away = tenant.devices[1]?.deviceId;
    const path = `/devices/${away}/commands`;
    const header = { 'idempotency-key': randomUUID() };
    await tenant.call(400, 'PUT', path, { launchType: 'nothing' }, header);
    await tenant.call(403, 'PUT', path, command.body, header);
    await tenant.activate(tenant.devices[1]);
    const first = await tenant.call(201, 'PUT', path, command.other, header);
    expect((await tenant.call(201, 'PUT', path, command.other, header)).body).toEqual(first.body);
    await tenant.call(422, 'PUT', path, command.body, header);
  });

  it('a rejected activation is not stored: it succeeds under the same key when the limit allows it', async () => {
    const tight = await createTenant({ devices: 2, activationLimit: 1 });
    try {
      const [one, two] = tight.devices.map((d) => d.deviceId);
      await tight.activate();
      const header = { 'idempotency-key': randomUUID() };
      const body = { clientId: `app-${randomUUID()}` };
      await tight.call(403, 'POST', `/devices/${two}`, body, header);
      await tight.call(201, 'DELETE', `/devices/${one}`);
      const first = await tight.call(201, 'POST', `/devices/${two}`, body, header);
      expect((await tight.call(201, 'POST', `/devices/${two}`, body, header)).body).toEqual(first.body);
    } finally {
      await tight.close();
    }
  });

  // protects against rest/other-answer
  it('each path, method and client is a separate scope of the key', async () => {
    const key = randomUUID();
    const header = { 'idempotency-key': key };
    const [, , third, fourth] = tenant.devices;
    const bodies = [{ clientId: `app-${randomUUID()}` }, { clientId: `app-${randomUUID()}` }];
    const one = await tenant.call(201, 'POST', `/devices/${third?.deviceId}`, bodies[0], header);
    const two = await tenant.call(201, 'POST', `/devices/${fourth?.deviceId}`, bodies[1], header);
    expect(two.body).not.toEqual(one.body);
    const three = await tenant.call(201, 'DELETE', `/devices/${third?.deviceId}`, undefined, header);
    expect(three.body).not.toEqual(one.body);
    const otherTenant = await createTenant();
    try {
      await otherTenant.call(200, 'PATCH', '', patch.body, header);
      await tenant.call(200, 'PATCH', '', patch.other, header);
    } finally {
      await otherTenant.close();
    }
  });

  it.each([
    ['empty', ''],
    ['256 characters', 'x'.repeat(256)],
    ['with a tab', 'a\tb'],
    ['with a byte beyond ASCII', 'caf\u00e9'],
  ])('a key that is %s is 400 and does nothing', async (_, key) => {
    await send(201, activation, randomUUID());
    const before = await tenant.transactions();
    for (const call of [activation, command, patch, refresh, cancel]) {
      expect((await send(400, call, key)).body).toEqual({
        message: 'Idempotency-Key must be 1 to 255 printable ASCII characters.',
      });
    }
    expect(await tenant.transactions()).toEqual(before);
  });

  it('a key of 255 printable characters is accepted', async () => {
    const key = `~ !"${randomUUID()}`.padEnd(255, 'x');
    const first = await send(201, command, key);
    expect((await send(201, command, key)).body).toEqual(first.body);
  });
});
