import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const commandOperation = 'put-v1-applications-devices-commands';

describeOnStack('the core loop', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 4 });
  });
  afterAll(() => tenant.close());

  // proves api/1/asynchronous, api/4/created-published, api/4/accepted, api/4/processed
  // proves api/4/command-processed
  it('delivers an activation and a command to the headset, and their results as signed callbacks in order', async () => {
    const [device] = tenant.devices;
    const headset = tenant.headset(device);
    headset.connect();
    const activation = await tenant.activate(device);
    expect(await tenant.ended(activation)).toEqual({
      applicationId: tenant.applicationId,
      deviceId: device?.deviceId,
      timestamp: expect.any(Number),
      transactionId: activation,
      operationId: 'post-v1-applications-devices',
      notificationType: 'processed',
      result: 'success',
      message: expect.any(String),
    });

    const command = await tenant.command(device);
    expect(command).toBeGreaterThan(activation);
    await tenant.ended(command);
    const bodies = tenant.callbacks(command).map((c) => c.body);
    expect(bodies.map((b) => b['notificationType'])).toEqual(['accepted', 'processed']);
    for (const body of bodies) {
      expect(body).toMatchObject({
        applicationId: tenant.applicationId,
        deviceId: device?.deviceId,
        transactionId: command,
        operationId: commandOperation,
        result: 'success',
      });
    }
    expect(await tenant.status(command)).toBe('processed');
    expect(headset.effects.has(command)).toBe(true);
  });

  // proves api/7/changing
  it('answers 201 with the transaction’s address, and the transaction can be read there', async () => {
    const [, device] = tenant.devices;
    await tenant.activate(device);
    const answer = await tenant.call(201, 'PUT', `/devices/${device?.deviceId}/commands`, {
      action: 'com.example.ACTION',
      launchType: 'broadcast',
    });
    const id = answer.body.transactionId;
    expect(answer.headers['location']).toBe(`/v1/applications/${tenant.applicationId}/transactions/${id}`);
    const read = await tenant.call(200, 'GET', `/transactions/${id}`);
    expect(read.body).toEqual({
      transactionId: id,
      deviceId: device?.deviceId,
      transactionStatus: expect.stringMatching(/^(created|published)$/),
      operationId: commandOperation,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
  });

  it('delivers the extras to the headset exactly as sent, and types each top-level value', async () => {
    const device = tenant.devices[2];
    const headset = tenant.headset(device);
    const offered: { extrasJson: string; extraTypes: Record<string, number> }[] = [];
    headset.on('received', (m) => {
      if (m.body.case !== 'offer') return;
      const kind = m.body.value.operation?.kind;
      if (kind?.case === 'command') offered.push(kind.value);
    });
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    const extras =
      '{"i":2147483647,"l":9223372036854775807,"d":1.0,"e":1e3,"big":123456789012345678901234567890,"s":"é\\u0041","b":true,"a":[1,2.50],"o":{"n":9007199254740993}}';
    const answer = await tenant.call(
      201,
      'PUT',
      `/devices/${device?.deviceId}/commands`,
      `{ "package" : "com.example.app", "launchType": "service", "extras" : ${extras} }`,
    );
    await tenant.ended(answer.body.transactionId);
    expect(offered).toHaveLength(1);
    expect(offered[0]?.extrasJson).toBe(extras);
    expect(offered[0]?.extraTypes).toEqual({ i: 3, l: 4, d: 5, e: 5, big: 5, s: 1, b: 2, a: 6, o: 7 });
  });

  // proves api/4/resend-online, api/4/resend-latest, cb/8/cancel-newer
  it('keeps commands for an offline headset, and sends only the latest of an operation', async () => {
    const device = tenant.devices[3];
    const activation = await tenant.activate(device);
    const older = await tenant.command(device);
    const latest = await tenant.command(device);
    await waitFor(
      'the command to wait for delivery',
      async () => (await tenant.status(latest)) === 'published',
    );
    const headset = tenant.headset(device);
    headset.connect();
    expect(await tenant.ended(latest)).toMatchObject({ result: 'success' });
    expect(await tenant.ended(activation)).toMatchObject({ result: 'success' });
    expect(await tenant.ended(older)).toMatchObject({
      notificationType: 'processed',
      result: 'failure',
      message: 'The transaction was canceled because there is a new transaction.',
    });
    expect(await tenant.status(older)).toBe('canceled');
    expect(headset.effects.has(older)).toBe(false);
  });

  it('runs several commands in order while the headset stays online', async () => {
    const [device] = tenant.devices;
    const ids: number[] = [];
    for (let i = 0; i < 5; i++) ids.push(await tenant.command(device));
    for (const id of ids) expect(await tenant.ended(id)).toMatchObject({ result: 'success' });
  });

  // proves cb/3/command, cb/4/command-two
  it('sends the app’s own answer after the result, in the command form', async () => {
    const [device] = tenant.devices;
    const headset = tenant.headset(device, {
      behaviour: { appAnswer: true, appAnswerText: 'did it', appAnswerData: '{"x":1}' },
    });
    headset.connect();
    await waitFor('the new session', () => headset.sessionEpoch > 0);
    const id = await tenant.command(device);
    await waitFor('three callbacks', () => tenant.callbacks(id).length === 3);
    const bodies = tenant.callbacks(id).map((c) => c.body);
    expect(bodies[1]).toMatchObject({ notificationType: 'processed', result: 'success' });
    expect(bodies[2]).toEqual({
      applicationId: tenant.applicationId,
      deviceId: device?.deviceId,
      timestamp: expect.any(Number),
      transactionId: id,
      operationId: commandOperation,
      success: true,
      process: 'processed',
      message: 'did it',
      customData: '{"x":1}',
    });
    expect(await tenant.status(id)).toBe('processed');
  });

  // proves api/5/command-no-target
  it('ends a command without action, package and classpath with a failure callback', async () => {
    const [device] = tenant.devices;
    const answer = await tenant.call(201, 'PUT', `/devices/${device?.deviceId}/commands`, {
      launchType: 'activity',
    });
    expect(await tenant.ended(answer.body.transactionId)).toMatchObject({
      result: 'failure',
      message: expect.stringContaining('package'),
    });
  });
});
