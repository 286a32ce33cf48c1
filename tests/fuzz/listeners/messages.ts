import { randomUUID } from 'node:crypto';
import type { Random } from '../../faults/random.ts';
import { mutatedBytes } from './bytes.ts';
import { longestMs } from './check.ts';
import {
  type Body,
  encode,
  frame,
  hello,
  kindOf,
  openLink,
  rightHeaders,
  sentinel,
  wrongStatus,
} from './link.ts';
import { fuzz } from './listener.ts';
import { mutatedMessage } from './wire.ts';
import { expected, spares } from './world.ts';

/**
 * Messages of the headsets' stream: valid messages with changed fields, in sessions of the spare application's
 * headsets. Some contain ids of the watched application's transactions. A session must continue, or end with an error
 * that blames the headset. Only the headset's own state and transactions may change.
 */
// protects against headsets/protocol, headsets/hello, headsets/other-transaction, headsets/other-result, headsets/report-values
export const messages = fuzz(
  'changed messages end a session with an error that blames the headset, or are answered',
  {
    name: 'messages',
    atOnce: spares.messages.length,
    async open({ stack, spare, watched }) {
      const { transactions } = await expected(watched.api, 200, 'GET', '/transactions');
      const foreign: bigint[] = transactions.map((one: { transactionId: number }) =>
        BigInt(one.transactionId),
      );
      const own = await expected(spare.api, 200, 'GET', '/transactions');
      const devices = spares.messages.map((i) => spare.devices[i]?.deviceId);
      const ids: bigint[] = own.transactions
        .filter((one: { deviceId: string }) => devices.includes(one.deviceId))
        .map((one: { transactionId: number }) => BigInt(one.transactionId));
      const mark = randomUUID();
      return {
        async one(random, lane) {
          const device = spare.devices[spares.messages[lane] ?? -1];
          if (!device) throw new Error('no device for this lane');
          const all = [...foreign, ...ids];
          const first = encode(hello(random.chance(0.5) ? fullHello(all, random) : {}));
          const sent = [random.chance(0.15) ? changed(first, all, random) : first];
          for (let left = random.pick([0, 1, 1, 2, 4, 8]); left > 0; left -= 1) {
            const right = encode(random.pick(kinds)(random.pick(all), random));
            sent.push(random.chance(0.5) ? changed(right, all, random) : right);
          }
          if (random.chance(0.2)) sent.push(...random.shuffled(sent).slice(0, 3));
          sent.push(sentinel);
          const link = openLink(stack.deviceLinkUrls[lane % stack.deviceLinkUrls.length] ?? '', {
            ...rightHeaders(device),
            'x-fuzz': mark,
          });
          for (const message of sent) link.stream.write(frame(message));
          const end = await link.over(longestMs);
          link.close();
          const isAnswered = end.grpc !== undefined || end.isAlive || end.isClosed;
          const wrong =
            wrongStatus(end) ?? (isAnswered ? undefined : `neither an end nor an answer in ${longestMs} ms`);
          return {
            sent: Buffer.concat(sent.map((message) => frame(message))),
            ...{ expectsAnswer: false, kind: kindOf(end), status: end.http },
            ...(wrong && { wrong }),
          };
        },
      };
    },
  },
);

function changed(message: Buffer, ids: readonly bigint[], random: Random): Buffer {
  const bytes = mutatedMessage(message, ids, random);
  return random.chance(0.1) ? mutatedBytes(bytes, random) : bytes;
}

function fullHello(ids: readonly bigint[], random: Random): object {
  return {
    apps: [{ package: 'com.example.app', version: '1.0.0' }],
    languages: ['ja', 'en'],
    hardware: {
      macAddressWifi: '00:00:5e:00:53:01',
      macAddressBluetooth: '00:00:5e:00:53:02',
      modelIdentifier: 'm',
    },
    held: ids.map((transactionId) => ({ transactionId, state: random.between(0, 3) })),
    activationEpoch: BigInt(random.between(0, 3)),
    clockMs: BigInt(Date.now()),
    knowsRevoke: random.chance(0.5),
    ...(random.chance(0.5) && { lastReportId: BigInt(random.between(0, 5)) }),
  };
}

type ReportBody = NonNullable<Extract<Body, { case: 'report' }>['value']['body']>;
const report = (body: ReportBody, random: Random): Body => ({
  case: 'report',
  value: {
    ...{
      reportId: BigInt(random.between(1, 1_000_000)),
      occurredAtMs: BigInt(Date.now() - random.between(0, 1000)),
      body,
    },
    ...{ activationEpoch: BigInt(random.between(0, 2)), snapshot: random.chance(0.1) },
  },
});
const bluetooth = { mode: 1, registered: true, name: 'a', alias: 'b', address: '00:00:5e:00:53:03' } as const;

/** A valid message of each type. */
const kinds: readonly ((transactionId: bigint, random: Random) => Body)[] = [
  (transactionId) => ({ case: 'ready', value: { transactionId } }),
  () => hello(),
  (_, random) => ({
    case: 'urlRequest',
    value: {
      requestId: BigInt(random.between(1, 100)),
      about: { case: 'downloadTicket', value: Buffer.alloc(80, 'x') },
    },
  }),
  (_, random) => ({
    case: 'urlRequest',
    value: {
      requestId: BigInt(random.between(1, 100)),
      about: { case: 'upload', value: { file: 'a/b.jpg', sizeBytes: 100n, activationEpoch: 1n } },
    },
  }),
  ...(
    [
      (transactionId: bigint) => ({
        case: 'result',
        value: {
          ...{ transactionId, success: true, message: 'done' },
          connectivity: {
            statusCode: 0,
            devices: [bluetooth],
            networks: [{ mode: 1, level: 3, name: 'n' }],
            state: 1,
          },
        },
      }),
      (transactionId: bigint) => ({ case: 'revoked', value: { transactionId } }),
      (transactionId: bigint) => ({
        case: 'progress',
        value: { transactionId, progress: 0.5, message: 'half' },
      }),
      (transactionId: bigint) => ({
        case: 'appAnswer',
        value: { transactionId, success: true, message: 'm', customData: '{"a":1}' },
      }),
      (transactionId: bigint) => ({
        case: 'bluetoothConnection',
        value: { transactionId, statusCode: 1, message: 'm', devices: [bluetooth] },
      }),
      () => ({
        case: 'stateChange',
        value: {
          ...{ power: 'on', wearing: 'on', network: 'online', charging: 'off', batteryPercentage: 50 },
          location: { latitude: 35.6, longitude: 139.7 },
        },
      }),
      () => ({ case: 'customData', value: { success: true, customData: '{"a":[1,2]}' } }),
      () => ({ case: 'appStatus', value: { status: 'running', text: 't' } }),
      () => ({ case: 'networkLevel', value: { networkType: 2, active: true, networkName: 'n', level: 3 } }),
      () => ({ case: 'volume', value: { min: 0, max: 15, current: 7 } }),
      () => ({ case: 'signal', value: { level: 4 } }),
      () => ({ case: 'bluetoothSwitch', value: { enabled: true } }),
      () => ({ case: 'fileUpload', value: { file: 'a/b.jpg', sizeBytes: 100n } }),
      () => ({
        case: 'inventory',
        value: { firmwareVersion: '9.1.0', apps: [{ package: 'a', version: '1' }], languages: ['ja'] },
      }),
      () => ({ case: 'speechUsage', value: { startedAtMs: BigInt(Date.now() - 5000), durationMs: 3000n } }),
    ] as ((transactionId: bigint) => ReportBody)[]
  ).map((make) => (transactionId: bigint, random: Random) => report(make(transactionId), random)),
];
