import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  type UsageEvent,
  UsageEventSchema,
  type UsageKind,
} from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { decodeEvent, foreignContentHeader } from './decode.ts';
import { type LogEvent, NewerVersionError, PoisonEventError } from './types.ts';

const eventOf = (value: Uint8Array, headers: LogEvent['headers'] = {}): LogEvent => ({
  ...{ topic: 't', key: 'k', position: '0:1', timestampMs: 1, value, headers },
});
const bytes = <S extends DescMessage>(schema: S, message: MessageInitShape<S>) =>
  toBinary(schema, create(schema, message));
/** Appends a field that only a later version knows. */
const withField = (known: Uint8Array, no: number, value: Uint8Array) =>
  Buffer.concat([known, new BinaryWriter().tag(no, WireType.LengthDelimited).bytes(value).finish()]);
const report = (body: Uint8Array) => withField(bytes(DeviceReportEventSchema, { deviceId: '1' }), 4, body);

test('a message of this version is decoded', () => {
  const usage: UsageEvent = create(UsageEventSchema, { usageId: 'u', kind: 2 });
  expect(decodeEvent(UsageEventSchema, eventOf(toBinary(UsageEventSchema, usage)))).toEqual(usage);
});

test('a later enum value is of a newer version', () => {
  const value = bytes(UsageEventSchema, { usageId: 'u', kind: 99 as UsageKind });
  expect(() => decodeEvent(UsageEventSchema, eventOf(value))).toThrow(NewerVersionError);
});

test('a later oneof case is of a newer version, at any depth', () => {
  const reportOfKind99 = withField(bytes(ReportSchema, { reportId: 1n }), 99, new Uint8Array(2));
  for (const value of [
    withField(bytes(DeviceReportEventSchema, { deviceId: '1' }), 99, new Uint8Array(2)),
    report(reportOfKind99),
  ]) {
    expect(() => decodeEvent(DeviceReportEventSchema, eventOf(value))).toThrow(
      /field 99 instead of a known body, which this version does not know/,
    );
  }
});

test('a later plain field is ignored', () => {
  const value = withField(bytes(UsageEventSchema, { usageId: 'u', kind: 1 }), 99, new Uint8Array(2));
  expect(decodeEvent(UsageEventSchema, eventOf(value)).usageId).toBe('u');
});

test('content that the publisher itself did not know is ignored, because no upgrade would help', () => {
  const value = report(withField(bytes(ReportSchema, { reportId: 1n }), 99, new Uint8Array(2)));
  const event = eventOf(value, { [foreignContentHeader]: 'headset' });
  expect(decodeEvent(DeviceReportEventSchema, event).body.case).toBe('report');
});

test('bytes that do not decode are poison', () => {
  const read = () => decodeEvent(UsageEventSchema, eventOf(Buffer.from('no message')));
  expect(read).toThrow(PoisonEventError);
  expect(read).not.toThrow(NewerVersionError);
});
