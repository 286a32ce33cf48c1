import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  GoAwayReason,
  type Offer,
  OfferSchema,
  type OperationSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';
import { AnnouncedActivation } from './announced-activation.ts';

/** No work of an activation starts before the activation is announced to the headset (rule A7). */

const offered = (
  id: number,
  activationEpoch: bigint,
  kind: MessageInitShape<typeof OperationSchema>['kind'],
) => create(OfferSchema, { transactionId: BigInt(id), activationEpoch, operation: { kind } });
const work = (id: number, epoch: bigint) =>
  offered(id, epoch, { case: 'command', value: { package: 'com.example.app' } });
const change = (id: number, epoch: bigint) =>
  offered(id, epoch, { case: 'activate', value: { applicationId: 'next' } });

describe('a session', () => {
  let world: World;
  let instance: Instance;
  let epoch: bigint;
  beforeEach(async () => {
    world = new World();
    instance = await world.start();
    epoch = 1n;
    world.onActivation = async () => ({ epoch, revision: 1n, applicationId: 'app', sinceEpoch: epoch });
    world.onAccept = async () => ({ start: true });
  });
  afterEach(() => world.close());

  const deliver = (...offers: Offer[]) => instance.dispatch(deviceId, ...offers);
  async function connected() {
    const headset = world.dial(instance, { hello: {} });
    await headset.next('welcome');
    await waitFor('the first reconciliation', () => world.online.length > 0);
    return headset;
  }

  it('ends before work of an activation whose transaction was canceled before its start; the next welcome announces it', async () => {
    const headset = await connected();
    await deliver(change(1, 2n), work(2, 2n));
    for (const id of [1n, 2n]) expect(await headset.next('offer')).toMatchObject({ transactionId: id });
    await instance.delivery.withdraw({ deviceId, transactionIds: [1n], reason: 'canceled' });
    expect(await headset.next('drop')).toMatchObject({ transactionId: 1n });
    epoch = 2n;
    headset.ready(2);
    expect(await headset.next('goAway')).toMatchObject({ reason: GoAwayReason.ACTIVATION });
    expect(headset.ids('start')).toEqual([]);
    world.onOnline = async () => ({ startTransactionIds: [2n] });
    const next = world.dial(instance, { hello: {} });
    expect(await next.next('welcome')).toMatchObject({ activation: { epoch: 2n } });
    expect(await next.next('start')).toMatchObject({ transactionId: 2n });
  });

  it('continues if the change has started, or if the work belongs to the announced activation', async () => {
    const headset = await connected();
    await deliver(work(1, 1n), change(2, 2n), work(3, 2n));
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    // The order of the readies does not matter.
    for (const id of [3, 1, 2]) headset.ready(id);
    await waitFor('the starts', () => headset.ids('start').length === 3);
    expect(headset.ids('start')).toEqual([1, 2, 3]);
    expect(headset.received.map((body) => body.case)).not.toContain('goAway');
  });

  it('does not end before the activation can be read: the next welcome would lack it again', async () => {
    let reads = 0;
    let away = true;
    world.onActivation = async () => {
      reads += 1;
      if (away) throw new DomainError('unavailable', 'away');
      return { epoch: 1n, revision: 1n, applicationId: 'app', sinceEpoch: 1n };
    };
    // Accepted in an earlier session, which has ended before its start.
    world.onOnline = async () => ({ startTransactionIds: [1n] });
    const headset = await connected();
    await waitFor('further reads', () => reads >= 3);
    expect(headset.received.map((body) => body.case)).toEqual(['welcome']);
    away = false;
    expect(await headset.next('goAway')).toMatchObject({ reason: GoAwayReason.ACTIVATION });
    const next = world.dial(instance, { hello: {} });
    expect(await next.next('welcome')).toMatchObject({ activation: { epoch: 1n } });
    expect(await next.next('start')).toMatchObject({ transactionId: 1n });
  });

  it('without an activation in its welcome starts a change, and the work that follows it', async () => {
    world.onActivation = async () => undefined;
    const headset = await connected();
    await deliver(change(1, 2n), work(2, 2n));
    await waitFor('the offers', () => headset.ids('offer').length === 2);
    for (const id of [1, 2]) headset.ready(id);
    await waitFor('the starts', () => headset.ids('start').length === 2);
  });
});

describe('the announced activation', () => {
  const announced = (welcomed: bigint | undefined, ...offers: Offer[]) => {
    const activation = new AnnouncedActivation(welcomed);
    for (const one of offers) activation.offered(one);
    return activation;
  };

  it('is not raised by the start of an older change', () => {
    const activation = announced(1n, change(1, 2n), change(2, 3n), work(3, 3n));
    expect(activation.start(1)).toBe(true);
    activation.dropped(2);
    expect(activation.start(3)).toBe(false);
  });

  it('covers earlier offers only if the welcome contained an activation', () => {
    expect(announced(1n).start(1)).toBe(true);
    expect(announced(undefined).start(1)).toBe(false);
  });
});
