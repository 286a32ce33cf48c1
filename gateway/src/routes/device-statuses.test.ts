import { FindDeviceStatusesRequestSchema } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = '/v1/applications/app-1/device_statuses';
const get = (query = '') => suite.send('GET', `${path}${query}`);
const asked = () => suite.asked('findDeviceStatuses', FindDeviceStatusesRequestSchema);

test('filters and limit reach the service; unknown values are null', async () => {
  suite.fakes.answers.findDeviceStatuses = async () => ({
    found: [
      { status: { deviceId }, activatedAtMs: 1_767_225_600_000n, clientVersion: '2.3.1' },
      { status: { deviceId } },
    ],
    nextAfterDeviceId: '',
  });
  const { text } = await get(
    '?limit=7&activatedSince=2026-01-01T09:00:00.5%2B09:00&network=connectivity_online&batteryBelow=20&clientVersion=2.3.1',
  );
  expect(asked()).toMatchObject({
    ...{ applicationId: 'app-1', limit: 7, activatedSinceMs: 1_767_225_600_500n, afterDeviceId: '' },
    ...{ network: 'connectivity_online', batteryBelow: 20, clientVersion: '2.3.1' },
  });
  expect(JSON.parse(text)).toMatchObject({
    devices: [
      { deviceId, power: null, activatedAt: '2026-01-01T00:00:00.000Z', clientVersion: '2.3.1' },
      { deviceId, activatedAt: null, clientVersion: null },
    ],
    cursor: null,
  });
});

test('a cursor continues after the device, only with the same filters', async () => {
  suite.fakes.answers.findDeviceStatuses = async () => ({ found: [], nextAfterDeviceId: deviceId });
  const { cursor } = JSON.parse((await get('?batteryBelow=20')).text);
  suite.fakes.seen.length = 0;
  expect((await get(`?batteryBelow=20&limit=3&cursor=${cursor}`)).status).toBe(200);
  expect(asked()?.afterDeviceId).toBe(deviceId);
  const message =
    'The query parameter cursor does not belong to this list. Repeat the filters of the call that returned it, or leave it out to start again.';
  for (const query of [
    ...[`?cursor=${cursor}`, `?batteryBelow=21&cursor=${cursor}`, `?batteryBelow=20&cursor=${cursor}x`],
    ...['?cursor=x', '?cursor=..%2f', '?cursor=%00', `?cursor=${'A'.repeat(64)}`],
  ]) {
    const answer = await get(query);
    expect([query, answer.status, JSON.parse(answer.text)]).toEqual([query, 400, { message }]);
  }
});

test.each([
  ['?limit=0', 'The query parameter limit must be a whole number from 1 to 100.'],
  ['?limit=101', 'The query parameter limit must be a whole number from 1 to 100.'],
  [
    '?network=online',
    'The query parameter network must be one of connectivity_online, connectivity_offline.',
  ],
  ['?batteryBelow=-1', 'The query parameter batteryBelow must be a whole number from 1 to 100.'],
  [
    '?activatedSince=2026-02-30T00:00:00Z',
    'The query parameter activatedSince must be a date and time (RFC 3339).',
  ],
  [
    '?activatedSince=2026-13-01T00:00:00Z',
    'The query parameter activatedSince must be a date and time (RFC 3339).',
  ],
  ['?clientVersion=', 'The query parameter clientVersion must be text of 1 to 64 characters.'],
  ['?cursor=', 'The query parameter cursor must be text of 1 to 64 characters.'],
  ['?limit=1&limit=2', 'The query parameter limit is given twice.'],
])('%s is 400 with the reason', async (query, message) => {
  const answer = await get(query);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { message }]);
  expect(asked()).toBeUndefined();
});
