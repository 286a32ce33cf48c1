import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';

describeOnStack('device statuses in pages', () => {
  let tenant: Tenant;
  let began: string;
  const ids = () => tenant.devices.map((device) => device.deviceId).toSorted();
  beforeAll(async () => {
    tenant = await createTenant({ devices: 5 });
    began = new Date(ago(60_000)).toISOString();
    for (const device of tenant.devices) await tenant.activate(device);
  });
  afterAll(() => tenant.close());
  const page = async (query: string, of = tenant) =>
    (await of.call(200, 'GET', `/device_statuses${query}`)).body;

  async function paged(filters: string): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const next: { devices: { deviceId: string }[]; cursor: string | null } = await page(
        `?limit=2${filters}${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      found.push(...next.devices.map((one) => one.deviceId));
      cursor = next.cursor;
    } while (cursor !== null);
    return found;
  }

  // proves ext/device-statuses/pages
  it('pages contain each activated device once, equal to the specified list', async () => {
    expect(await paged('')).toEqual(ids());
    const specified = (await tenant.call(200, 'GET', '/devices/status')).body.devices;
    const { devices } = await page('');
    expect(devices).toEqual(
      specified.map((status: object) => ({
        ...status,
        activatedAt: expect.any(String),
        clientVersion: null,
      })),
    );
  });

  // proves ext/device-statuses/filters
  it('filters by time of activation, network, battery and client version', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    expect(await paged(`&activatedSince=${began}`)).toEqual(ids());
    expect(await paged(`&activatedSince=${later}`)).toEqual([]);
    const device = tenant.devices[2];
    const headset = tenant.headset(device, { clientVersion: '7.6.5' });
    headset.connect();
    headset.report({ case: 'stateChange', value: { batteryPercentage: 12 } });
    const filters = '&network=connectivity_online&batteryBelow=13&clientVersion=7.6.5';
    const found = await waitFor('the report', async () => {
      const ids = await paged(filters);
      return ids.length > 0 && ids;
    });
    expect(found).toEqual([device?.deviceId]);
    expect(await paged('&batteryBelow=12')).toEqual([]);
    expect(await paged('&clientVersion=7.6')).toEqual([]);
    expect(await paged('&network=connectivity_offline')).toEqual(
      ids().filter((id) => id !== device?.deviceId),
    );
  });

  // proves ext/device-statuses/cursor
  // protects against rest/other-application
  it('a cursor of another application, or of other filters, is 400; devices of others are never listed', async () => {
    const { cursor } = await page('?limit=1');
    const other = await createTenant();
    expect((await page('', other)).devices).toEqual([]);
    for (const [of, query] of [
      [other, `?cursor=${cursor}`],
      [tenant, `?batteryBelow=5&cursor=${cursor}`],
      [tenant, '?cursor=nothing'],
    ] as const) {
      const { body } = await of.call(400, 'GET', `/device_statuses${query}`);
      expect(body.message).toContain('leave it out to start again');
    }
    await other.close();
  });
});
