import { partitionsOf, servicesOf } from './callers.ts';

const processes = [
  'devices',
  'devices-2',
  'transactions',
  'billing',
  'gateway',
  'gateway-2',
  'device-link',
  'device-link-2',
];
const lines = new Set(processes.flatMap((a) => processes.map((b) => `${a}>${b}`)));

describe('the process pairs for a network partition', () => {
  it('are all instances that call each other, in both directions', () => {
    const parted = partitionsOf(processes, lines).map((p) => p.join(' '));
    expect(parted).toContain('devices>transactions transactions>devices');
    expect(parted).toContain('devices-2>gateway-2 gateway-2>devices-2');
    expect(parted).toContain('device-link>device-link-2 device-link-2>device-link');
    expect(parted.some((p) => /billing>transactions|gateway>device-link/.test(p))).toBe(false);
  });

  it('contain only existing lines', () => {
    const oneWay = new Set([...lines].filter((line) => !line.includes('>gateway')));
    expect(partitionsOf(['gateway', 'billing'], oneWay)).toEqual([['gateway>billing']]);
  });

  it('include the processes of each service for a rolling restart', () => {
    expect(servicesOf(processes)).toContainEqual(['device-link', 'device-link-2']);
    expect(servicesOf(processes)).toContainEqual(['billing']);
  });
});
