import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;

describe('status', () => {
  test('all fields of a device that reported nothing are null', async () => {
    const { deviceId: id, ...rest } = JSON.parse(
      (await suite.gateway.request('GET', `${device}/status`)).text,
    );
    expect(id).toBe(deviceId);
    expect(Object.values(rest).every((v) => v === null)).toBe(true);
  });

  // proves api/3/status-firmware, api/3/status-apps, api/3/status-lang, api/3/status-location
  // proves api/3/status-battery, api/7/status
  test('reported values are returned with their dates', async () => {
    suite.gateway.fakes.answers.getDeviceStatus = async () => ({
      status: {
        deviceId,
        power: 'started',
        batteryPercentage: 0,
        latitude: 0,
        longitude: -0.5,
        firmwareVersion: '9.1',
        apps: [{ package: 'p', version: '1' }],
        languages: [],
        powerUpdatedAtMs: 0n,
        batteryUpdatedAtMs: 1_767_225_600_123n,
        reported: true,
      },
    });
    expect(JSON.parse((await suite.gateway.request('GET', `${device}/status`)).text)).toMatchObject({
      power: 'started',
      wearing: null,
      batteryPercentage: 0,
      latitude: 0,
      longitude: -0.5,
      firmware: { version: '9.1' },
      apps: [{ package: 'p', version: '1' }],
      lang: [],
      powerUpdateDate: '1970-01-01T00:00:00.000Z',
      batteryUpdateDate: '2026-01-01T00:00:00.123Z',
      locationUpdateDate: null,
    });
  });

  const id = (n: number) => String(350_000_000_000_000 + n);
  // proves api/7/status-list
  test('the list of all devices is put together from pages', async () => {
    suite.gateway.fakes.answers.listDeviceStatuses = async ({ afterDeviceId, limit }) => {
      const from = afterDeviceId === '' ? 0 : Number(afterDeviceId) - 350_000_000_000_000 + 1;
      const count = Math.min(limit, 450 - from);
      return {
        statuses: Array.from({ length: count }, (_, i) => ({ deviceId: id(from + i) })),
        more: from + count < 450,
      };
    };
    const answer = await suite.gateway.request('GET', `${app}/devices/status`);
    const { devices } = JSON.parse(answer.text) as { devices: { deviceId: string }[] };
    expect(devices.map((d) => d.deviceId)).toEqual(Array.from({ length: 450 }, (_, i) => id(i)));
    expect(suite.gateway.fakes.seen.filter((s) => s.rpc === 'listDeviceStatuses')).toHaveLength(3);
  });

  test('no devices are an empty list', async () => {
    expect((await suite.gateway.request('GET', `${app}/devices/status`)).text).toBe('{"devices":[]}');
  });

  test('a failure before the first page is an error answer', async () => {
    suite.gateway.fakes.answers.listDeviceStatuses = async () => {
      throw new DomainError('unavailable', 'Away.');
    };
    expect((await suite.gateway.request('GET', `${app}/devices/status`)).status).toBe(503);
  });

  test('a failure midway closes the connection, so that the answer never looks complete', async () => {
    let page = 0;
    suite.gateway.fakes.answers.listDeviceStatuses = async () => {
      if (page++ > 0) throw new DomainError('database_failed', 'The database failed.');
      return { statuses: [{ deviceId }], more: true };
    };
    await expect(suite.gateway.request('GET', `${app}/devices/status`)).rejects.toThrow();
    await waitFor('the log line', () => suite.gateway.logs.some((l) => l['msg'] === 'answer interrupted'));
  });
});
