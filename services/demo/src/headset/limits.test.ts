import { create, toBinary } from '@bufbuild/protobuf';
import { limits } from '@headset-cloud/device-link/domain/limits.ts';
import {
  ConnectRequestSchema,
  HelloSchema,
  ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { fittingHello, withinLimits } from './limits.ts';
import type { ReportBody } from './outbox.ts';

const most = limits.maxMessageBytes;
const report = (body: ReportBody) =>
  withinLimits(create(ReportSchema, { reportId: 2n ** 53n - 1n, occurredAtMs: 2n ** 53n, body }));
const messageBytes = (value: ReturnType<typeof report>) =>
  toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { body: { case: 'report', value } })).length;
const apps = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ package: `com.example.app${i}`, version: '1.0.0' }));

describe('a report', () => {
  const device = { mode: 1, registered: true, name: '長'.repeat(999), alias: '長'.repeat(999), address: 'a' };
  const bodies: ReportBody[] = [
    { case: 'customData', value: { success: true, customData: '長'.repeat(100_000) } },
    {
      case: 'appAnswer',
      value: { transactionId: 1n, message: '長'.repeat(5000), customData: '長'.repeat(100_000) },
    },
    { case: 'result', value: { transactionId: 1n, message: '長'.repeat(100_000) } },
    { case: 'bluetoothConnection', value: { statusCode: 200, devices: Array(300).fill(device) } },
    { case: 'appStatus', value: { status: 'started', text: '長'.repeat(100_000) } },
    { case: 'networkLevel', value: { networkName: '長'.repeat(100_000) } },
    { case: 'inventory', value: { firmwareVersion: '1', languages: ['ja'], apps: apps(20_000) } },
  ];
  it.each(bodies.map((body) => [body.case, body] as const))('of %s fits into a message', (_, body) => {
    const fitting = report(body);
    expect(messageBytes(fitting)).toBeLessThanOrEqual(most);
    expect(fitting.body.case).toBe(body.case);
  });

  it('is not cut if it is within the limits', () => {
    const fitting = report({
      case: 'appAnswer',
      value: { message: 'm'.repeat(1024), customData: 'c'.repeat(65_536) },
    });
    expect(fitting.body.value).toMatchObject({ message: 'm'.repeat(1024), customData: 'c'.repeat(65_536) });
  });

  it('that is still too large throws an error', () => {
    expect(() => report({ case: 'fileUpload', value: { file: 'x'.repeat(most) } })).toThrow('too large');
  });
});

describe('a hello', () => {
  it('that is too large leaves out the last apps, but no held transaction', () => {
    const held = Array.from({ length: 1000 }, (_, i) => ({
      transactionId: BigInt(i + 1),
      state: 1 as const,
    }));
    const hello = fittingHello({ apps: apps(20_000), held });
    expect(toBinary(HelloSchema, hello).length).toBeLessThanOrEqual(most);
    expect(hello.held).toHaveLength(1000);
    expect(hello.apps.length).toBeGreaterThan(4000);
    expect(hello.apps.map((one) => one.package)).toEqual(apps(hello.apps.length).map((one) => one.package));
  });
});
