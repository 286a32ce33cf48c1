import { randomBytes } from 'node:crypto';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const operationId = 'put-v1-applications-devices-apps';

describeOnStack('progress of an update', () => {
  let tenant: Tenant;
  /** While true, the integrator's server rejects in_progress. */
  let refusing = false;
  const name = `com.example.p${randomBytes(6).toString('hex')}`;
  beforeAll(async () => {
    tenant = await createTenant({
      devices: 5,
      answer: ({ body }) => ({ status: refusing && body.notificationType === 'in_progress' ? 503 : 204 }),
    });
    for (const version of ['1', '2']) {
      const entries = { 'a.bin': randomBytes(200_000) };
      const apk = await makeApk({ package: name, versionName: version, entries });
      const asked = await tenant.call(201, 'POST', '/apps', {
        package: name,
        version,
        fileSize: apk.length,
      });
      const headers = { 'content-type': 'application/vnd.android.package-archive' };
      const put = await request(asked.body.urlList[0].uploadUrl, { method: 'PUT', body: apk, headers });
      await put.body.dump();
    }
    await waitFor('the packages to be deliverable', async () => {
      const { body } = await tenant.call(200, 'GET', `/apps?package=${name}`);
      return body.appVersions.length === 2;
    });
  });
  afterAll(() => tenant.close());

  /** An activated headset that is online and downloads slowly enough to report progress. */
  const online = async (index: number, behaviour: object) => {
    const headset = tenant.headset(tenant.devices[index], {
      behaviour: { downloadBytesPerSecond: 400_000, progressIntervalMs: 50, ...behaviour },
    });
    headset.connect();
    await tenant.ended(await tenant.activate(tenant.devices[index]));
    return headset;
  };
  const update = async (index: number, version = '1'): Promise<number> => {
    const path = `/devices/${tenant.devices[index]?.deviceId}/apps`;
    return (await tenant.call(201, 'PUT', path, { package: name, version })).body.transactionId;
  };
  const general = (index: number, id: number) => ({
    applicationId: tenant.applicationId,
    deviceId: tenant.devices[index]?.deviceId,
    timestamp: expect.any(Number),
    transactionId: id,
    operationId,
  });
  const steps = (id: number): { id: string; progress: number; timestamp: number }[] =>
    tenant
      .callbacks(id)
      .filter((c) => c.body.notificationType === 'in_progress')
      .map(({ webhookId, body }) => ({ id: webhookId, ...body }));

  // proves cb/3/update, cb/4/in-progress, cb/4/notification-types
  it.each([
    [0, 'twice', 1],
    [1, 'backwards', 0.5],
  ] as const)(
    'is sent in the order of the reports, between start and end (device %d: %s)',
    async (index, _, factor) => {
      const headset = await online(index, {});
      const report = headset.report.bind(headset);
      headset.report = (body, details) => {
        const reportId = report(body, details);
        if (body.case !== 'progress') return reportId;
        const progress = factor * (body.value.progress ?? 0);
        return report({ case: 'progress', value: { ...body.value, progress } });
      };
      const id = await update(index);
      await tenant.ended(id);
      const all = tenant.callbacks(id);
      expect(all.at(0)?.body).toEqual({
        ...general(index, id),
        notificationType: 'accepted',
        result: 'success',
        message: 'The device has started the operation.',
        progress: 0,
      });
      expect(all.at(-1)?.body).toEqual({
        ...general(index, id),
        notificationType: 'processed',
        result: 'success',
        message: 'installed',
        progress: 1,
      });
      const between = all.slice(1, -1);
      expect(between.length).toBeGreaterThan(2);
      for (const { body } of between) {
        expect(body).toEqual({
          ...general(index, id),
          notificationType: 'in_progress',
          result: 'success',
          message: expect.stringMatching(/^(loading|installing)$/),
          progress: expect.any(Number),
        });
      }
      // Each report once, in the order of the headset's report ids.
      const reports = steps(id).map((s) => Number(s.id.split('-').at(-1)));
      expect(steps(id).map((s) => s.id)).toEqual(reports.map((r) => `tx-${id}-progress-${r}`));
      expect(reports).toEqual([...new Set(reports)].sort((a, b) => a - b));
    },
  );

  it('keeps its last value if the update fails', async () => {
    const headset = await online(2, { corruptDownloads: 3, downloadRetryMs: 10 });
    const reported: number[] = [];
    const report = headset.report.bind(headset);
    headset.report = (body, details) => {
      if (body.case === 'progress') reported.push(body.value.progress ?? 0);
      return report(body, details);
    };
    const id = await update(2);
    const end = await tenant.ended(id);
    // The last callback may have a lower value: the end replaces undelivered progress (rule B10).
    const last = reported.at(-1);
    expect(last).toBeGreaterThan(0);
    expect(reported).toEqual(expect.arrayContaining(steps(id).map(({ progress }) => progress)));
    expect(end).toEqual({
      ...general(2, id),
      notificationType: 'processed',
      result: 'failure',
      message: 'The update is not what its size and hash say.',
      progress: last,
    });
  });

  it('that the integrator rejects is replaced by later progress, and does not delay the end', async () => {
    const headset = await online(3, {});
    refusing = true;
    const id = await update(3);
    await tenant.ended(id);
    refusing = false;
    expect(tenant.callbacks(id).map((c) => c.body.notificationType)).toEqual(['accepted', 'processed']);
    // Replaced progress does not arrive after the end.
    await tenant.ended(await tenant.command(tenant.devices[3]));
    expect(tenant.callbacks(id)).toHaveLength(2);
    expect(headset.device.state.apps).toContainEqual({ package: name, version: '1' });
  });

  // proves api/4/latest-updates
  it('of waiting updates, the latest of each version runs; older ones are canceled in the general form', async () => {
    const device = tenant.devices[4];
    await tenant.activate(device);
    const [older, other, newest] = [await update(4, '1'), await update(4, '2'), await update(4, '1')];
    const headset = tenant.headset(device);
    headset.connect();
    expect(await tenant.ended(older)).toEqual({
      ...general(4, older),
      notificationType: 'processed',
      result: 'failure',
      message: 'The transaction was canceled because there is a new transaction.',
    });
    for (const id of [other, newest]) {
      expect(await tenant.ended(id)).toMatchObject({ result: 'success', progress: 1 });
    }
    expect(headset.effects.has(older)).toBe(false);
    expect(headset.device.state.apps).toContainEqual({ package: name, version: '1' });
  });
});
