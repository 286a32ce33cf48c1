import { nextActivationStep, nextChangeStep } from './activation.ts';
import type { DeviceState } from './device.ts';

const idle: DeviceState = {
  deviceId: '1',
  epoch: 0,
  lastTransactionId: 0,
  recent: [],
  pending: [],
  lifecycle: [],
};
const activation = { applicationId: 'app', clientId: 'c', epoch: 1, sinceEpoch: 1 };
const active: DeviceState = { ...idle, epoch: 1, lastTransactionId: 5, recent: [5], activation };
const deactivate = { kind: 'deactivate', transactionId: 3, applicationId: 'app', epoch: 2 } as const;

const activate = (device: DeviceState, transactionId = 7, applicationId = 'app') => {
  try {
    return nextActivationStep(device, { applicationId, transactionId });
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const change = (device: DeviceState | undefined, transactionId = 7, applicationId = 'app') => {
  try {
    return nextChangeStep(device, { applicationId, transactionId });
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('the next step of an activation', () => {
  test.each([
    ['a device without an activation is activated', idle, 'first'],
    ['pending work comes first', { ...idle, pending: [deactivate] }, 'finish'],
    ['an activated device is activated again', active, 'again'],
  ])('%s', (_, device, step) => {
    expect(activate(device)).toBe(step);
  });

  test('a repeat is done, whatever has changed since', () => {
    expect(activate(active, 5)).toBe('done');
    expect(activate({ ...active, activation: { ...activation, applicationId: 'other' } }, 5)).toBe('done');
  });

  test('an id below the newest change is overtaken', () => {
    expect(activate(active, 4)).toBe('conflict');
    expect(activate({ ...idle, lastTransactionId: 9 })).toBe('conflict');
  });

  test('another application is rejected', () => {
    expect(activate(active, 7, 'other')).toBe('device_activated_by_other');
  });
});

describe('the next step of a deactivation or reset', () => {
  test('only the application that has activated the device may call it', () => {
    expect(change(active)).toBe('change');
    expect(change(active, 7, 'other')).toBe('device_activated_by_other');
    expect(change(idle)).toBe('device_not_activated');
    expect(change(undefined)).toBe('device_not_activated');
  });

  test('a repeat is done, an id below the newest change is overtaken', () => {
    expect(change({ ...idle, lastTransactionId: 7, recent: [5, 7] })).toBe('done');
    expect(change(active, 3)).toBe('conflict');
  });
});
