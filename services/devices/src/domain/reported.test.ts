import { datedFields, newerFields } from './reported.ts';

test('values that the specification does not know are left out', () => {
  expect(datedFields({ power: 'on', network: 'connectivity_online' }, 1, 2)).toEqual({
    network: { value: 'connectivity_online', atMs: 1 },
  });
  expect(datedFields({ batteryPercentage: 101, location: { latitude: 91, longitude: 0 } }, 1, 2)).toEqual({});
  expect(datedFields({ batteryPercentage: 0 }, 1, 2)).toEqual({ battery: { value: 0, atMs: 1 } });
});

test('a clock that runs ahead is held to the time of arrival', () => {
  expect(datedFields({ power: 'started' }, 5000, 2000).power?.atMs).toBe(2000);
});

test('of two reports the newer of each field stays, at the same time the later report', () => {
  const earlier = { power: { value: 'started', atMs: 5 }, wearing: { value: 'device_wear', atMs: 5 } };
  const later = { power: { value: 'finished', atMs: 4 }, wearing: { value: 'device_takeoff', atMs: 5 } };
  expect(newerFields(earlier, later)).toEqual({ power: earlier.power, wearing: later.wearing });
});
