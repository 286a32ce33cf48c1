import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@headset-cloud/demo/api.ts';
import { createAdmin, provisionApplication } from '@headset-cloud/demo/provision.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { crashingAt } from '../faults/inside/environment.ts';
import { ctl, ctlJson, ctlWith } from './ctl.ts';
import { createTenant, describeOnStack, ownBacking, stack as suiteStack, type Tenant } from './harness.ts';

/** Records of operators' and integrators' changes (ADR 0044). */

interface ShownRecord {
  readonly recordId: string;
  readonly action: string;
  readonly applicationId: string;
  readonly fields: readonly string[];
  readonly actor: Readonly<Record<string, string>>;
}

describeOnStack('the audit log of changes', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant();
  });
  afterAll(() => tenant.close());

  const listed = async (...filters: string[]): Promise<ShownRecord[]> =>
    (await ctlJson('audit', 'list', '--application', tenant.applicationId, ...filters)).records;

  // protects against operators/record-values
  it("an integrator's change of settings names client, token, address, request and fields, and no value", async () => {
    const requestId = `audit-${randomBytes(6).toString('hex')}`;
    const url = `${tenant.integrator.url}?password=do-not-show`;
    await tenant.call(200, 'PATCH', '', { soraEvent: url }, { 'X-Request-Id': requestId });
    const record = await waitFor('the record', async () =>
      (await listed('--action', 'UpdateSettings')).find(({ actor }) => actor['requestId'] === requestId),
    );
    expect(record).toMatchObject({
      ...{ action: 'devices.UpdateSettings', applicationId: tenant.applicationId, fields: ['soraEvent'] },
      actor: {
        ...{ clientId: tenant.clientId, operator: '', route: 'PATCH /v1/applications/{applicationId}' },
        tokenId: expect.stringMatching(/.{8}/),
        address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
      },
    });
    const { out } = await ctl('--json', 'audit', 'list', '--application', tenant.applicationId);
    expect(out).not.toContain('do-not-show');
  });

  it("an operator's change names the operator; pages and filters lead to each record", async () => {
    const put = ['contracts', 'put', tenant.applicationId, '--limit', '7'];
    const given = await ctlWith({ DEVICES_ADMIN: suiteStack.admin.devices, OPERATOR: 'Kim 金' }, ...put);
    expect([given.exitCode, given.err]).toEqual([0, '']);
    const [record] = await waitFor('the record', async () => {
      const found = await listed('--actor', 'Kim 金');
      return found.length > 0 && found;
    });
    expect(record).toMatchObject({
      ...{ action: 'devices.PutContract', fields: ['activationLimit'] },
      actor: { operator: 'Kim 金', clientId: '', address: expect.stringMatching(/127\.0\.0\.1|::1/) },
    });
    const all = await listed();
    expect(all.length).toBeGreaterThan(2);
    const paged: string[] = [];
    let cursor = '';
    do {
      const more = ['--limit', '1', ...(cursor === '' ? [] : ['--after', cursor])];
      const page = await ctlJson('audit', 'list', '--application', tenant.applicationId, ...more);
      paged.push(page.records[0].recordId);
      cursor = page.nextCursor;
    } while (cursor !== '');
    expect(paged).toEqual(all.map(({ recordId }) => recordId));
    expect(await listed('--since', '2199-01-01')).toEqual([]);
    const text = await ctl('audit', 'list', '--actor', 'Kim 金');
    expect(text.out).toMatch(/^TIME +ACTOR +FROM +ACTION +CHANGED +FIELDS/);
  });

  it('a change of a contract names the changed fields, and keeps the others', async () => {
    const before = (await ctlJson('contracts', 'show', tenant.applicationId)).contract;
    const imei = `35${String(Date.now()).slice(-13)}`;
    const as = { DEVICES_ADMIN: suiteStack.admin.devices, OPERATOR: 'Lee' };
    for (const change of [
      ['--add', imei],
      ['--remove', imei],
    ]) {
      const given = await ctlWith(as, 'contracts', 'put', tenant.applicationId, ...change);
      expect([given.exitCode, given.err]).toEqual([0, '']);
    }
    const records = await waitFor('both records', async () => {
      const found = await listed('--actor', 'Lee', '--action', 'PutContract');
      return found.length === 2 && found;
    });
    expect(records.map(({ fields }) => fields)).toEqual([['removeDeviceIds'], ['addDeviceIds']]);
    expect((await ctlJson('contracts', 'show', tenant.applicationId)).contract).toEqual(before);
  });

  it('an unknown action is rejected with the list of known actions', async () => {
    const { exitCode, err } = await ctl('audit', 'list', '--action', 'PutContracts');
    expect([exitCode, err]).toEqual([
      1,
      expect.stringMatching(/^action "PutContracts" is not one of billing.AddUsage, .*devices.PutContract,/),
    ]);
  });

  it('activation and deactivation are recorded with their device', async () => {
    const [device] = tenant.devices;
    await tenant.activate();
    await tenant.call(201, 'DELETE', `/devices/${device?.deviceId}`);
    const records = await waitFor('both', async () => {
      const found = await listed('--device', device?.deviceId as string);
      return found.length === 2 && found;
    });
    expect(records.map(({ action }) => action)).toEqual([
      'devices.DeactivateDevice',
      'devices.ActivateDevice',
    ]);
  });
});

describeOnStack('a process killed right after a change', () => {
  const client = { clientId: 'audited', clientSecret: randomBytes(24).toString('hex') };
  let folder: string;
  let stack: Stack;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-audit-'));
    stack = await startStack({
      ...{ kind: suiteStack.kind, dataDir: folder, clients: [client] },
      backing: await ownBacking(),
    });
  }, 180_000);
  afterAll(async () => {
    await stack?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it('leaves one record', async () => {
    const applicationId = await provisionApplication(createAdmin(stack.admin), {
      ...{ developerId: 'audited', clientIds: [client.clientId], name: 'audited', activationLimit: 1 },
      deviceIds: [],
    });
    const api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
    try {
      const process = stack.processes[suiteStack.oneProcess ? 'platform' : 'devices'];
      if (!process) throw new Error('the process is not there');
      await process.stop();
      process.start(crashingAt('after store devices.applications.settings'));
      await stack.ready();
      const killed = process.exited;
      const settings = { fileUploadEvent: 'http://127.0.0.1:9/' };
      // The process is killed before its answer.
      void api.app('PATCH', '', settings).catch(() => {});
      expect(await killed).toBe('SIGKILL');
      process.start();
      await stack.ready();
      const list = async (): Promise<ShownRecord[]> => {
        const filters = ['--application', applicationId, '--action', 'UpdateSettings'];
        const run = await ctlWith(
          { BILLING_ADMIN: stack.admin.billing },
          '--json',
          'audit',
          'list',
          ...filters,
        );
        return run.exitCode === 0 ? JSON.parse(run.out).records : [];
      };
      const records = await waitFor('the record', async () => {
        const found = await list();
        return found.length > 0 && found;
      });
      const [{ body }] = [await api.app('GET', '')];
      expect(body.fileUploadEvent).toBe(settings.fileUploadEvent);
      expect(records.map(({ fields, actor }) => [fields, actor['clientId']])).toEqual([
        [['fileUploadEvent'], client.clientId],
      ]);
    } finally {
      await api.close();
    }
  }, 180_000);
});
