import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { readIdentities } from '@headset-cloud/demo/headset/identity.ts';
import { startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import type { IssuerClient } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { ctl, ctlJson, ctlWith } from './ctl.ts';
import { createTenant, describeOnStack, imei, newIssuerClient, stack, type Tenant } from './harness.ts';
import { plain } from './tokens.ts';

describeOnStack('operators', () => {
  let folder: string;
  const unique = randomBytes(4).toString('hex');
  const [developer, application] = [`dev-${unique}`, `app-${unique}`];
  const [device, other] = [imei(), imei()];
  let client: IssuerClient;
  beforeAll(() => {
    client = newIssuerClient();
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-ctl-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const keyFile = () => join(folder, 'headset.key.json');
  const ok = async (...args: string[]): Promise<string> => {
    const run = await ctl(...args);
    expect([run.exitCode, run.err]).toEqual([0, '']);
    return run.out;
  };

  it('the command line alone registers an integrator with a headset that executes commands', async () => {
    const { clientId } = client;
    expect(await ok('developers', 'put', developer, '--name', 'Acme', '--client', clientId)).toBe(
      `developer  ${developer}\nname       Acme\nclients    ${clientId}\n`,
    );
    expect(
      await ok('applications', 'create', application, '--developer', developer, '--name', 'Field support'),
    ).toBe(`application  ${application}\ndeveloper    ${developer}\nname         Field support\n`);
    expect(await ok('devices', 'put', device, other)).toContain(device);
    expect(await ok('contracts', 'put', application, '--limit', '1', '--add', device, other)).toMatch(
      new RegExp(
        `^application {2}${application}\\nlimit {8}1\\nactivated {4}0\\nlimits {7}defaults\\ndevices {6}\\d{15}\\n {13}\\d{15}\\n$`,
      ),
    );
    const generated = await ok('devices', 'keys', 'generate', device, '--out', keyFile());
    expect(generated).toMatch(/^device {4}\d{15}\nkey {7}[\w-]{43}\nkey file {2}.*headset\.key\.json\n$/);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
    expect(generated).not.toContain('PRIVATE KEY');

    const integrator = await startIntegrator();
    const api = createApiClient({
      ...{ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId: application, ...client },
    });
    const [identity] = readIdentities(keyFile());
    const headset = new Headset({ identity: identity as never, server: stack.deviceLinkUrl });
    try {
      await api.app('PATCH', '', { deviceEvent: integrator.url });
      integrator.keys.push((await api.app('POST', '/refresh_authkey')).body.authenticationKey);
      headset.connect();
      const { body } = await api.app('POST', `/devices/${device}`, { clientId: `client-${unique}` });
      await waitFor('the end', () =>
        integrator.received.some(
          (r) => r.body.transactionId === body.transactionId && r.body.notificationType === 'processed',
        ),
      );
      expect((await api.app('POST', `/devices/${other}`, { clientId: 'second' })).status).toBe(403);
      // devices stores the hello independently of the activation's end; the tests below read it.
      await waitFor(
        'the hello',
        async () => (await api.app('GET', `/devices/${device}/status`)).body.firmware,
      );
    } finally {
      await headset.close();
      await api.close();
      await integrator.close();
    }
  });

  it('shows the provisioned objects, as tables and as JSON', async () => {
    const developers = await ctlJson('developers', 'list');
    expect(developers.developers).toContainEqual({
      ...{ developerId: developer, name: 'Acme', clientIds: [client.clientId] },
    });
    expect(await ok('developers', 'list')).toMatch(
      new RegExp(`^DEVELOPER +NAME +CLIENTS\\n(.*\\n)*${developer} +Acme +${client.clientId}\\n`),
    );
    expect(await ctlJson('applications', 'list', '--developer', developer)).toEqual({
      applications: [{ applicationId: application, developerId: developer, name: 'Field support' }],
    });
    expect(await ok('applications', 'list', '--developer', developer)).toMatch(
      new RegExp(`^APPLICATION +DEVELOPER +NAME\\n${application} +${developer} +Field support\\n$`),
    );
    const contract = {
      ...{ applicationId: application, activationLimit: 1, activated: 1 },
      deviceIds: expect.arrayContaining([device, other]),
    };
    // Another test below covers limits.
    const { limits: _limits, ...shownContract } = (await ctlJson('contracts', 'show', application)).contract;
    expect(shownContract).toEqual(contract);
    const [identity] = readIdentities(keyFile());
    const shown = {
      ...{ deviceId: device, keyIds: [identity?.keyId], activated: true, applicationId: application },
      ...{ specificDestination: '', clientVersion: '3.4.0', sharedIdentity: false },
    };
    expect(await ctlJson('devices', 'show', device)).toEqual({
      device: { ...shown, status: expect.objectContaining({ deviceId: device }) },
    });
    const before = String(BigInt(device) - 1n).padStart(15, '0');
    expect((await ctlJson('devices', 'list', '--after', before, '--limit', '1')).devices).toEqual([shown]);
    expect(await ok('devices', 'list', '--after', before, '--limit', '1')).toMatch(
      new RegExp(`^DEVICE +KEYS +ACTIVATED BY +CLIENT VERSION\\n${device} +1 +${application} +3\\.4\\.0\\n`),
    );
  });

  it('shows that a contract has no individual limits', async () => {
    expect((await ctlJson('contracts', 'show', application)).contract.limits).toEqual({});
  });

  it('shows a headset’s reported values, keeps its intended destination, and shows hardware models', async () => {
    expect((await ctlJson('devices', 'show', device)).device.status).toMatchObject({
      ...{ deviceId: device, firmwareVersion: '9.001.0', languages: ['ja'], reported: true },
    });
    expect(await ok('devices', 'put', device, '--destination', '大阪工場')).toMatch(
      /^destination +大阪工場$/m,
    );
    expect(await ok('devices', 'show', device)).toMatch(/^firmware +9\.001\.0$/m);
    const identifier = `model ${unique}`;
    const cameras = ['--camera', 'landscape:front:1920x1080', '--camera', 'portrait:left:640x480'];
    await ok('hardware', 'put', identifier, '--shape', 'box', '--name', '一号', ...cameras);
    const { models } = await ctlJson('hardware', 'list');
    expect(models).toContainEqual({
      ...{ identifier, name: '一号', description: '', shape: 'box' },
      cameras: [
        { direction: 'landscape', mountedPosition: 'front', maxWidth: 1920, maxHeight: 1080 },
        { direction: 'portrait', mountedPosition: 'left', maxWidth: 640, maxHeight: 480 },
      ],
    });
    expect(await ctl('hardware', 'put', identifier, '--shape', 'round')).toEqual({
      ...{ exitCode: 1, out: '', err: 'shape "round" is not one of box, neck-mounted.\n' },
    });
  });

  it('shows a device’s transactions and the callbacks they caused', async () => {
    const { transactions } = await ctlJson('transactions', 'list', device);
    expect(transactions).toEqual([
      {
        transactionId: expect.stringMatching(/^\d+$/),
        ...{ deviceId: device, applicationId: application, status: 'TRANSACTION_STATUS_PROCESSED' },
        operationId: 'post-v1-applications-devices',
        createdAtMs: expect.stringMatching(/^\d{13}$/),
        updatedAtMs: expect.stringMatching(/^\d{13}$/),
      },
    ]);
    const id = transactions[0].transactionId;
    expect(await ok('transactions', 'list', device)).toMatch(
      new RegExp(
        `^TRANSACTION +STATUS +OPERATION +APPLICATION +CREATED +UPDATED\\n${id} +processed +post-v1-applications-devices +${application} +\\S+Z +\\S+Z\\n$`,
      ),
    );
    expect(await ok('transactions', 'list', device, '--open')).toBe('No unprocessed transactions.\n');
    expect(await ctlJson('transactions', 'show', id)).toEqual({
      transaction: transactions[0],
      attempts: 0,
      sessionEpoch: expect.stringMatching(/^\d+$/),
      wishedAtMs: '0',
      wishedCancellation: '',
      activationEpoch: '1',
      endMessage: 'activated',
      outboxSize: 0,
    });
    const shown = await ok('transactions', 'show', id);
    expect(shown).toMatch(/^status +processed$/m);
    expect(shown).toMatch(/^end message +activated$/m);

    const { deliveries } = await ctlJson('deliveries', 'list', '--application', application);
    const ids: string[] = deliveries.map((d: { notificationId: string }) => d.notificationId);
    // Notifications of the network status are listed, too.
    expect(ids.filter((one) => one.startsWith('tx-')).toSorted()).toEqual([
      `tx-${id}-accepted`,
      `tx-${id}-processed`,
    ]);
    const table = await ok('deliveries', 'list', '--application', application);
    expect(table).toMatch(
      /^NOTIFICATION +STATE +APPLICATION +DESTINATION +HOST +ATTEMPTS +CREATED +LAST OUTCOME\n/,
    );
    expect(table).toMatch(
      new RegExp(
        `^tx-${id}-processed +delivered +${application} +deviceEvent +127\\.0\\.0\\.1:\\d+ +1 +\\S+Z +204$`,
        'm',
      ),
    );
    const one = await ok('deliveries', 'show', `tx-${id}-processed`);
    expect(one).toMatch(/^state +delivered$/m);
    expect(one).toMatch(/^ATTEMPT +MS +HOST +ANSWER +ERROR\n\S+Z +\d+ +127\.0\.0\.1:\d+ +204 +-$/m);
    expect(deliveries[0].host).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(one).toContain(`"transactionId":${id}`);
  });

  it('a removed key locks the headset out', async () => {
    const [identity] = readIdentities(keyFile());
    await ok('devices', 'keys', 'remove', device, identity?.keyId ?? '');
    const headset = new Headset({
      identity: identity as never,
      server: stack.deviceLinkUrl,
      backoff: { firstMs: 10, maxMs: 50 },
    });
    const refused = new Promise((resolve) => headset.once('offline', (_, details) => resolve(details)));
    headset.connect();
    expect(await refused).toMatch(/^The token was refused/);
    await headset.close();
  });

  it.each<[string, string[], number, RegExp]>([
    ['an unknown transaction', ['transactions', 'show', '4503599627370497'], 1, /does not exist/],
    ['an unknown delivery', ['deliveries', 'redeliver', 'tx-0-none'], 1, /not found/],
    ['an unknown device', ['devices', 'show', '350000000000000'], 1, /\S/],
    ['a malformed IMEI', ['devices', 'put', '123'], 1, /\S/],
    ['a contract of no application', ['contracts', 'show', 'none'], 1, /\S/],
    ['an application of no developer', ['applications', 'create', '--developer', 'none'], 1, /\S/],
    ['an unknown command', ['devises', 'list'], 2, /unknown command 'devises'[\s\S]*--help/],
    ['a missing option', ['contracts', 'put', 'a'], 2, /--limit/],
    ['an unknown state', ['deliveries', 'list', '--state', 'lost'], 2, /pending, delivered, dead, replaced/],
    ['a limit that is no number', ['devices', 'list', '--limit', 'x'], 2, /whole number/],
  ])('%s is reported on standard error, with its exit code', async (_, args, exitCode, err) => {
    const run = await ctl(...args);
    expect([run.exitCode, run.out]).toEqual([exitCode, '']);
    expect(run.err).toMatch(err);
    expect(run.err).not.toMatch(/^\s+at /m);
  });

  it('a client belongs to one developer', async () => {
    const run = await ctl('developers', 'put', `thief-${unique}`, '--client', client.clientId);
    expect(run.exitCode).toBe(1);
    expect(run.err).toMatch(/client/i);
    expect(JSON.stringify(await ctlJson('developers', 'list'))).not.toContain(`thief-${unique}`);
  });

  it('a wrong address is reported with the fix, and exit code 3', async () => {
    const nothing = await ctlWith({}, '--admin', 'http://127.0.0.1:1', 'devices', 'list');
    expect([nothing.exitCode, nothing.out]).toEqual([3, '']);
    expect(nothing.err).toBe(
      'Cannot reach the operators’ listener of devices at http://127.0.0.1:1 (ECONNREFUSED).\n'.replace(
        '’',
        "'",
      ) +
        'Start the platform (make up; on Kubernetes check the pods of devices), or give the correct address with --admin URL, --devices-admin URL or DEVICES_ADMIN.\n',
    );
    const noAddress = await ctlWith({ ADMIN_URL: 'devices:9100' }, 'devices', 'list');
    expect(noAddress.exitCode).toBe(2);
    expect(noAddress.err).toMatch(/is not an http or https address/);
  });

  it('the API’s address instead of the operators’ is reported', async () => {
    const run = await ctlWith({ ADMIN_URL: stack.apiUrl }, 'devices', 'list');
    expect([run.exitCode, run.out]).toEqual([3, '']);
    expect(run.err).toMatch(/is not the operators' listener of devices.*--devices-admin/);
  });

  // protects against operators/other-listener
  it('the operators’ listener is not served on the API’s port, nor the API on the operators’', async () => {
    const tenant: Tenant = await createTenant();
    const authorization = `Bearer ${await tenant.api.token()}`;
    const calls = [
      'devices.v1.DevicesAdminService/ListDevelopers',
      'notifier.v1.NotifierAdminService/ListDeliveries',
    ];
    for (const call of calls) {
      const answer = await plain(
        ...([
          'POST',
          `/headset.${call}`,
          { authorization, 'content-type': 'application/json' },
          '{}',
        ] as const),
      );
      expect(answer.status).toBe(403);
    }
    for (const path of ['/metrics', '/livez', '/readyz']) {
      expect((await plain('GET', path, { authorization })).status).toBe(403);
    }
    for (const url of new Set([...Object.values(stack.admin), ...Object.values(stack.adminUrls)])) {
      const answer = await request(`${url}/v1/applications/${tenant.applicationId}`, {
        headers: { authorization },
      });
      await answer.body.dump();
      expect(answer.statusCode).toBe(404);
    }
    await tenant.close();
  });
});
