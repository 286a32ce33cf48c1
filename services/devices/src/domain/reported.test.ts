import { datedFields, newerFields, reportedSoftware } from './reported.ts';

const moment = { reportId: 3, atMs: 1, epoch: 2 };

test('values outside the specification are left out', () => {
  expect(datedFields({ power: 'on', network: 'connectivity_online' }, moment)).toEqual({
    network: { value: 'connectivity_online', ...moment },
  });
  expect(datedFields({ batteryPercentage: 101, location: { latitude: 91, longitude: 0 } }, moment)).toEqual(
    {},
  );
  expect(datedFields({ batteryPercentage: 0 }, moment)).toEqual({ battery: { value: 0, ...moment } });
});

test('of two reports the newer value of each field stays, by activation epoch and report id, whatever their times', () => {
  const at = (value: string, reportId: number, epoch = 1) => ({
    ...{ value, reportId, epoch },
    atMs: 1000 - reportId,
  });
  const earlier = { power: at('started', 5), wearing: at('device_wear', 5), charging: at('x', 5) };
  const later = { power: at('finished', 4), wearing: at('device_takeoff', 6), charging: at('y', 4, 2) };
  expect(newerFields(earlier, later)).toEqual({ ...later, power: earlier.power });
});

describe('the software is the last reported software', () => {
  const said = { firmwareVersion: '1', apps: [], languages: [] };
  const introduction = {
    ...{ ...said, sessionEpoch: 1, atMs: 10, clientVersion: '', macAddressWifi: '', macAddressBluetooth: '' },
    modelIdentifier: '',
  };
  const inventory = { ...said, firmwareVersion: '2', reportId: 5, ...{ atMs: 10, epoch: 1 } };

  test('a change during a session counts, a change from before the session does not', () => {
    expect(reportedSoftware({ introduction, inventory })).toBe(inventory);
    expect(reportedSoftware({ introduction, inventory: { ...inventory, atMs: 9 } })).toBe(introduction);
  });

  test.each([
    ['waited since before the hello, its date after it', { atMs: 11, reportId: 4 }, 1, '1'],
    ['came after the hello, its date before it', { atMs: 9, reportId: 5 }, 1, '2'],
    ['came in an earlier session, its date after the hello', { atMs: 11, reportId: 9 }, 0, '1'],
    ['came in a later session, its date before the hello', { atMs: 9, reportId: 1 }, 2, '2'],
  ])('an inventory that %s', (_, dated, sessionEpoch, version) => {
    const software = reportedSoftware({
      introduction: { ...introduction, lastReportId: 4 },
      inventory: { ...inventory, ...dated, sessionEpoch },
    });
    expect(software?.firmwareVersion).toBe(version);
  });

  test('a hello or an inventory alone counts; without both the software is unknown', () => {
    expect(reportedSoftware({ introduction })).toBe(introduction);
    expect(reportedSoftware({ inventory })).toBe(inventory);
    expect(reportedSoftware({})).toBeUndefined();
  });
});
