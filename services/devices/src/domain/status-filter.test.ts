import { type Filterable, matches, readableClient, type StatusFilter } from './status-filter.ts';

const moment = { reportId: 1, atMs: 1, epoch: 3 };
const introduction = {
  ...{ sessionEpoch: 5, atMs: 10, clientVersion: '2.3.1', firmwareVersion: '9.1', apps: [], languages: [] },
  ...{ macAddressWifi: '', macAddressBluetooth: '', modelIdentifier: '' },
};
const device: Filterable = {
  activation: { sinceEpoch: 3, sinceMs: 1000 },
  reported: { battery: { value: 20, ...moment }, introduction, introducedEpoch: 3 },
};

test.each<[StatusFilter, boolean]>([
  [{}, true],
  [{ activatedSinceMs: 1000 }, true],
  [{ activatedSinceMs: 1001 }, false],
  [{ network: 'connectivity_online' }, true],
  [{ network: 'connectivity_offline' }, false],
  [{ batteryBelow: 21 }, true],
  [{ batteryBelow: 20 }, false],
  [{ clientVersion: '2.3.1' }, true],
  [{ clientVersion: '2.3' }, false],
  [{ clientVersion: '2.3.1', batteryBelow: 5 }, false],
])('%j: %p', (filter, expected) => {
  expect(matches(device, filter)).toBe(expected);
});

test('state of an earlier activation matches no filter, because the status does not show it', () => {
  const next: Filterable = { ...device, activation: { sinceEpoch: 4, sinceMs: 2000 } };
  expect(matches(next, { batteryBelow: 100 })).toBe(false);
  expect(matches(next, { clientVersion: '2.3.1' })).toBe(false);
  expect(readableClient(next)).toBeUndefined();
  expect(matches(next, {})).toBe(true);
});

test('without a known time of activation, or without an activation, nothing matches', () => {
  expect(matches({ ...device, activation: { sinceEpoch: 3 } }, { activatedSinceMs: 0 })).toBe(false);
  expect(matches({ reported: device.reported }, {})).toBe(false);
});
