import { status } from '@grpc/grpc-js';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { GoAwayReason, HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { limits } from '../domain/limits.ts';
import { deviceId, type Instance, offer, otherDeviceId, World } from '../testing/world.ts';

/** Only a moved clock reaches this deadline. */
const offerDeadlineMs = 60_000;

let world: World;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  instance = await world.start({ DEVICE_LINK_OFFER_DEADLINE_MS: offerDeadlineMs });
});
afterEach(() => world.close());

const deliver = (...ids: number[]) => instance.dispatch(deviceId, ...ids.map((id) => offer(id)));

async function connected(hello: object = {}) {
  const headset = world.dial(instance, { hello });
  await headset.next('welcome');
  await waitFor('the first reconciliation', () => world.online.length > 0);
  return headset;
}

describe('a session', () => {
  it('sends transactions the held transactions, and publishes the hello', async () => {
    const held = [{ transactionId: 5n, state: HeldState.FINISHED }];
    await connected({ held, apps: [{ package: 'com.example', version: '1.2' }] });
    expect(world.online[0]).toMatchObject({ deviceId, sessionEpoch: 1n, clientVersion: '3.4.0', held });
    const [event] = await waitFor('the hello on the log', async () => {
      const events = await world.reports();
      return events.length > 0 ? events : undefined;
    });
    expect(event).toMatchObject({ deviceId, sessionEpoch: 1n });
    expect(event?.body.case === 'hello' && event.body.value.apps[0]?.package).toBe('com.example');
  });

  it('retries the reconciliation while transactions is unavailable', async () => {
    let failures = 2;
    world.onOnline = async () => {
      if (failures-- > 0) throw new DomainError('unavailable', 'away');
      return { offers: [offer(1)], dropTransactionIds: [9n] };
    };
    const headset = await connected();
    expect((await headset.next('drop')).transactionId).toBe(9n);
    expect((await headset.next('offer')).transactionId).toBe(1n);
  });

  it('sends offers that arrive during the first reconciliation after it, merged in order of id, once', async () => {
    let finish = () => {};
    world.onOnline = () =>
      new Promise((resolve) => {
        finish = () => resolve({ offers: [offer(1), offer(3)] });
      });
    const headset = await connected();
    expect(await deliver(2, 3)).toEqual([1n, 1n]);
    expect(headset.ids('offer')).toEqual([]);
    finish();
    await waitFor('all offers', () => headset.ids('offer').length >= 3);
    await deliver(1, 2, 3, 4);
    await waitFor('the new offer', () => headset.ids('offer').includes(4));
    expect(headset.ids('offer')).toEqual([1, 2, 3, 4]);
  });

  it('sends starts in the order of the offers, in whatever order readies and start grants arrive', async () => {
    const grants = new Map<number, () => void>();
    world.onAccept = ({ transactionId }) =>
      new Promise((resolve) => {
        grants.set(Number(transactionId), () =>
          resolve(transactionId === 2n ? { start: false, dropReason: 'canceled' } : { start: true }),
        );
      });
    const headset = await connected();
    await deliver(1, 2, 3);
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    for (const id of [3, 1, 2]) headset.ready(id);
    await waitFor('the requests for start grants', () => grants.size === 3);
    grants.get(3)?.();
    grants.get(2)?.();
    grants.get(1)?.();
    await waitFor('both starts', () => headset.ids('start').length === 2);
    expect(headset.received.slice(-3).map((b) => b.case)).toEqual(['start', 'drop', 'start']);
    expect(headset.ids('start')).toEqual([1, 3]);
    expect(headset.ids('drop')).toEqual([2]);
  });

  it('requests a start grant until there is an answer, and never drops without an answer', async () => {
    let failures = 3;
    world.onAccept = async () => {
      if (failures-- > 0) throw new DomainError('unavailable', 'away');
      return { start: true };
    };
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    headset.ready(1);
    expect((await headset.next('start')).transactionId).toBe(1n);
    expect(headset.ids('drop')).toEqual([]);
  });

  it('requests one start grant for a repeated ready, and another after the start, since the transaction may have ended', async () => {
    let grant = () => {};
    world.onAccept = () =>
      new Promise((resolve) => {
        grant = () => resolve({ start: true });
      });
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    headset.ready(1);
    headset.ready(1);
    // A later message is handled, so both were read.
    headset.result(1, 6);
    await headset.next('reportAck');
    grant();
    await headset.next('start');
    const before = world.accepts.length;
    expect(before).toBe(1);
    world.onAccept = async () => ({ start: true });
    headset.ready(1);
    await waitFor('the start again', () => headset.ids('start').length >= 2);
    expect(world.accepts).toHaveLength(2);
    world.onAccept = async () => ({ start: false, dropReason: 'before reset' });
    headset.ready(1);
    await waitFor('the drop', () => headset.ids('drop').length === 1);
    expect(headset.ids('start')).toEqual([1, 1]);
  });

  it('requests no start grant before the first reconciliation, and sends its result first', async () => {
    let reconciled = () => {};
    world.onOnline = () =>
      new Promise((resolve) => {
        reconciled = () => resolve({ dropTransactionIds: [7n], offers: [offer(8)] });
      });
    world.onAccept = async ({ transactionId }) =>
      transactionId === 8n ? { start: true } : { start: false, dropReason: 'newer' };
    const headset = await connected({ held: [{ transactionId: 7n, state: HeldState.OFFERED }] });
    headset.ready(7);
    headset.ready(8);
    // A later message is handled, so both were read.
    headset.result(1, 6);
    await headset.next('reportAck');
    expect(world.accepts).toEqual([]);
    reconciled();
    await waitFor('the answers', () => headset.ids('drop').length === 2);
    expect(world.accepts.map((a) => a.transactionId)).toEqual([7n, 8n]);
    expect(headset.received.slice(-4).map((b) => b.case)).toEqual(['drop', 'offer', 'start', 'drop']);
  });

  it('continues to read after the first reconciliation, also after many readies', async () => {
    let reconciled = () => {};
    world.onOnline = () =>
      new Promise((resolve) => {
        reconciled = () => resolve({});
      });
    const headset = await connected();
    for (let id = 1; id <= 200; id += 1) headset.ready(id);
    await waitFor('the pause of reading', async () => {
      const [, readies] = /direction="in",kind="ready"\} (\d+)/.exec(await world.metrics.metrics()) ?? [];
      return Number(readies) >= limits.maxInFlightOffers;
    });
    reconciled();
    await waitFor('all starts', () => headset.ids('start').length === 200);
  });

  it('drops a transaction that is withdrawn after its start', async () => {
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    headset.ready(1);
    await headset.next('start');
    await instance.delivery.withdraw({ deviceId, transactionIds: [1n], reason: 'before reset' });
    expect(await headset.next('drop')).toMatchObject({ transactionId: 1n, reason: 'before reset' });
  });

  it("lets transactions decide about a ready for an unknown or another device's transaction", async () => {
    world.onAccept = async () => ({ start: false, dropReason: 'unknown' });
    const headset = await connected();
    headset.ready(12345);
    expect(await headset.next('drop')).toMatchObject({ transactionId: 12345n, reason: 'unknown' });
    expect(world.accepts[0]).toMatchObject({
      deviceId,
      transactionId: 12345n,
      sessionEpoch: 1n,
      ...{ clientVersion: '3.4.0', firmwareVersion: '9.001.0' },
    });
  });

  it('requests start grants with the newest firmware version of the hello and inventory reports', async () => {
    const headset = await connected({ firmwareVersion: '9.001.0' });
    let id = 0;
    // The second report is from before the hello, and is repeated; the last one contains no version.
    for (const [reported, expected] of [
      ['9.002.0', '9.002.0'],
      ['9.000.0', '9.002.0'],
      ['', '9.002.0'],
      ['9.010.0', '9.010.0'],
      ['9'.repeat(65), '9.010.0'],
    ] as const) {
      id += 1;
      const inventory = { case: 'inventory' as const, value: { firmwareVersion: reported } };
      headset.send({ case: 'report', value: { reportId: BigInt(id), body: inventory } });
      headset.ready(id);
      await waitFor('the request', () => world.accepts.length === id);
      expect(world.accepts.at(-1)).toMatchObject({ firmwareVersion: expected });
    }
  });

  it('drops a withdrawn offer that was not answered', async () => {
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    await instance.delivery.withdraw({ deviceId, transactionIds: [1n], reason: 'canceled' });
    expect(await headset.next('drop')).toMatchObject({ transactionId: 1n, reason: 'canceled' });
  });

  it('ends when an offer is not answered in time', async () => {
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    world.clock.offsetMs += offerDeadlineMs + 1;
    expect((await headset.next('goAway')).reason).toBe(GoAwayReason.UNRESPONSIVE);
    await headset.ended(status.OK);
    await waitFor('the end of the session', async () => (await deliver(2))[0] === 0n);
  });

  // protects against headsets/slow-reader
  it('ends, and its stream is reset, if the headset stops reading', async () => {
    const headset = await connected();
    headset.stopReading();
    const large = (id: number) => offer(id, 'x'.repeat(4096));
    for (let id = 1; id <= 900; id += 100) {
      const offers = Array.from({ length: 100 }, (_, i) => large(id + i));
      expect(new Set(await instance.dispatch(deviceId, ...offers))).toEqual(new Set([1n]));
    }
    // Offers are written until the stream is full; then the deadline begins.
    await waitFor('the stream to be full', async () =>
      /kind="offer"\} [1-9]/.test(await world.metrics.metrics()),
    );
    world.clock.offsetMs += offerDeadlineMs + 1;
    await waitFor('the end of the session', async () => (await deliver(2000))[0] === 0n);
    world.clock.offsetMs += offerDeadlineMs + 1;
    await headset.ended(status.CANCELLED);
    expect(headset.ids('offer').length).toBeLessThan(100);
  });

  it('does not end because of a long transaction', async () => {
    const headset = await connected();
    await deliver(1);
    await headset.next('offer');
    headset.ready(1);
    await headset.next('start');
    const silent = world.dial(instance, { id: otherDeviceId, hello: {} });
    await silent.next('welcome');
    await instance.dispatch(otherDeviceId, offer(1));
    await silent.next('offer');
    world.clock.offsetMs += 3_600_000;
    // The sweep checks sessions in the order in which they began.
    await silent.ended(status.OK);
    headset.result(1, 1);
    expect((await headset.next('reportAck')).reportId).toBe(1n);
    expect(headset.end).toBeUndefined();
  });

  it('refuses offers beyond its limit, and returns epoch 0 for a headset without a session', async () => {
    expect(await deliver(1)).toEqual([0n]);
    let finish = () => {};
    world.onOnline = () =>
      new Promise((resolve) => {
        finish = () => resolve({});
      });
    await connected();
    await deliver(...Array.from({ length: 1000 }, (_, i) => i + 1));
    await expect(deliver(1001)).rejects.toThrow('unavailable: Too many transactions wait');
    finish();
  });
});

describe('reports', () => {
  it('are acknowledged only after they are durable, in order, up to the highest id', async () => {
    const headset = await connected();
    await waitFor('the hello on the log', async () => (await world.reports()).length === 1);
    let release = () => {};
    world.logHeld = new Promise((resolve) => {
      release = resolve;
    });
    for (let id = 1; id <= 500; id += 1) headset.result(id, id);
    await deliver(1);
    await waitFor('a message that came later', () => headset.ids('offer').length === 1);
    expect(headset.received.some((b) => b.case === 'reportAck')).toBe(false);
    release();
    const last = () =>
      headset.received.findLast((b) => b.case === 'reportAck')?.value as { reportId: bigint };
    await waitFor('the last ack', () => last()?.reportId === 500n);
    expect(await world.reportIds()).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
    const acks = headset.received.flatMap((b) => (b.case === 'reportAck' ? [Number(b.value.reportId)] : []));
    expect(acks).toEqual([...new Set(acks)].sort((x, y) => x - y));
    expect(acks.length).toBeLessThan(500);
  });

  it('are not acknowledged while the disk is busy, though they are on the log', async () => {
    const headset = await connected();
    const consumed = await world.consume();
    world.bed.disk.hold();
    headset.result(1, 7);
    await waitFor('the report', () =>
      consumed.some(({ body }) => body.case === 'report' && body.value.reportId === 1n),
    );
    await deliver(1);
    await waitFor('a message that came later', () => headset.ids('offer').length === 1);
    expect(headset.received.some((b) => b.case === 'reportAck')).toBe(false);
    world.bed.disk.release();
    await headset.next('offer');
    expect((await headset.next('reportAck')).reportId).toBe(1n);
  });

  it('are published again, in order and without an ack, while the log is unavailable', async () => {
    const headset = await connected();
    await waitFor('the hello on the log', async () => (await world.reports()).length === 1);
    world.logUnavailable = true;
    for (let id = 1; id <= 3; id += 1) headset.result(id, id);
    await deliver(1);
    await waitFor('a message that came later', () => headset.ids('offer').length === 1);
    expect(headset.received.some((b) => b.case === 'reportAck')).toBe(false);
    world.logUnavailable = false;
    await headset.next('offer');
    const ack = await headset.next('reportAck');
    const durable = await world.reportIds();
    expect(durable.slice(0, Number(ack.reportId))).toEqual([1, 2, 3].slice(0, Number(ack.reportId)));
    await waitFor('all', async () => (await world.reportIds()).join() === '1,2,3');
  });

  it('of every kind are published with any content: about transactions and about the headset on separate topics', async () => {
    const headset = await connected();
    const aboutItself = [
      { case: 'customData', value: { customData: 'x'.repeat(200_000) } },
      { case: 'appStatus', value: { status: 'unheard of' } },
      { case: 'networkLevel', value: { level: 99 } },
      { case: 'volume', value: {} },
      { case: 'signal', value: { level: 5 } },
      { case: 'bluetoothSwitch', value: {} },
      { case: 'bluetoothConnection', value: { transactionId: 0n } },
      { case: 'fileUpload', value: { file: '../..', sizeBytes: -1n } },
      { case: 'inventory', value: {} },
      { case: 'speechUsage', value: { durationMs: -1n } },
      { case: 'stateChange', value: {} },
    ] as const;
    const aboutTransactions = [
      { case: 'progress', value: { transactionId: 1n, progress: 7 } },
      { case: 'appAnswer', value: { transactionId: 1n } },
      { case: 'result', value: { transactionId: 1n, connectivity: { statusCode: 999 } } },
    ] as const;
    const kinds = [...aboutItself, ...aboutTransactions];
    for (const [i, body] of kinds.entries()) {
      headset.send({ case: 'report', value: { reportId: BigInt(i + 1), activationEpoch: 3n, body } });
    }
    const last = () =>
      headset.received.findLast((b) => b.case === 'reportAck')?.value as { reportId: bigint };
    await waitFor('the last ack', () => last()?.reportId === BigInt(kinds.length));
    const said = async (topic: string) =>
      (await world.reports(topic)).map(({ body }) =>
        body.case === 'report' ? [body.value.body.case, body.value.activationEpoch] : body.case,
      );
    const cases = (of: readonly { case: string }[]) => ['hello', ...of.map((k) => [k.case, 3n])];
    expect(await said(topics.transactionReports)).toEqual(cases(aboutTransactions));
    expect(await said(topics.deviceReports)).toEqual(cases(aboutItself));
  });

  // protects against headsets/report-repeat
  it('that are repeated are acknowledged again, not published again', async () => {
    const headset = await connected();
    headset.result(7, 1);
    expect((await headset.next('reportAck')).reportId).toBe(7n);
    headset.result(7, 1);
    expect((await headset.next('reportAck')).reportId).toBe(7n);
    expect(await world.reportIds()).toEqual([7]);
  });

  it('that are durable are listed in the next welcome after a session that ended in order', async () => {
    const first = await connected();
    first.result(41, 1);
    await first.next('reportAck');
    first.close();
    await waitFor('the end of the session', async () => (await deliver(1))[0] === 0n);
    const welcome = await waitFor('the release in the store', async () => {
      const again = world.dial(instance, { hello: {} });
      const answer = await again.next('welcome');
      return answer.ackedReportId === 41n ? answer : undefined;
    });
    expect(welcome.sessionEpoch).toBeGreaterThan(1n);
  });
});

describe('a message that violates the protocol ends the session and changes nothing', () => {
  const cases: Record<string, (headset: Awaited<ReturnType<typeof connected>>) => void> = {
    'bytes that are no message': (h) => h.sendBytes(Uint8Array.of(0x0a, 0xff, 0xff, 0x03)),
    'a message without a body': (h) => h.sendBytes(Uint8Array.of()),
    'a second hello': (h) => h.hello(),
    'a ready without an id': (h) => h.ready(0),
    'a report without an id': (h) => h.result(0, 1),
    'a report without a body': (h) => h.send({ case: 'report', value: { reportId: 1n } }),
    'a report about no transaction': (h) => h.result(1, 0),
    'progress of no transaction': (h) =>
      h.send({
        case: 'report',
        value: { reportId: 1n, body: { case: 'progress', value: { transactionId: 0n, progress: 0.5 } } },
      }),
    'a Bluetooth connection by a transaction out of range': (h) =>
      h.send({
        case: 'report',
        value: { reportId: 1n, body: { case: 'bluetoothConnection', value: { transactionId: -1n } } },
      }),
    'a report of an activation epoch out of range': (h) =>
      h.send({
        case: 'report',
        value: {
          reportId: 1n,
          activationEpoch: 2n ** 53n,
          body: { case: 'signal', value: { level: 1 } },
        },
      }),
    'a message over 256 KiB': (h) =>
      h.send({
        case: 'report',
        value: {
          reportId: 1n,
          body: {
            case: 'appAnswer',
            value: { transactionId: 1n, success: true, customData: 'x'.repeat(300_000) },
          },
        },
      }),
  };
  it.each(Object.keys(cases))('%s', async (name) => {
    const headset = await connected();
    (cases[name] as (h: typeof headset) => void)(headset);
    const { metadata } = await headset.ended(status.INVALID_ARGUMENT);
    expect(metadata.get('x-retry-after-ms')).toEqual(['5000']);
    expect(await world.reportIds()).toEqual([]);
    expect(world.accepts).toEqual([]);
  });

  it.each(['ready', 'report', 'nothing'])('%s before hello', async (kind) => {
    const headset = world.dial(instance);
    if (kind === 'ready') headset.ready(1);
    else if (kind === 'report') headset.result(1, 1);
    else headset.sendBytes(Uint8Array.of());
    await headset.ended(status.INVALID_ARGUMENT);
    expect(world.online).toEqual([]);
    expect(await deliver(1)).toEqual([0n]);
  });

  it.each([
    ['a version over 64 characters', { clientVersion: '1'.repeat(65) }],
    ['an activation epoch out of range', { activationEpoch: 2n ** 53n }],
    ['a held transaction out of range', { held: [{ transactionId: 0n }] }],
  ])('a hello with %s', async (_, hello) => {
    const headset = world.dial(instance, { hello });
    await headset.ended(status.INVALID_ARGUMENT);
    expect(world.online).toEqual([]);
  });

  // protects against headsets/large-message
  it('a message far over the limit is refused by its length alone', async () => {
    const headset = await connected();
    headset.sendBytes(new Uint8Array(600_000));
    await headset.ended(status.RESOURCE_EXHAUSTED);
  });
});
