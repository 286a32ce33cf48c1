import { topics } from '@headset-cloud/eventlog/types.ts';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createLimiter } from '../calls/limiter.ts';
import { deviceId, type Instance, offer, World } from '../testing/world.ts';
import { createActivationReader } from './current-activation.ts';

/** The current activation in the welcome (rule A7). */

let world: World;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  instance = await world.start();
});
afterEach(() => world.close());

const activation = {
  ...{ epoch: 5n, revision: 77n, applicationId: 'app', clientId: 'c' },
  ...{ clientSecret: 's3cret', sinceEpoch: 4n },
};
const sessionEpoch = async () =>
  (await instance.delivery.getPresence({ deviceIds: [deviceId] })).sessionEpochs[deviceId];

describe('the welcome', () => {
  it('contains the activation, with its client secret', async () => {
    world.onActivation = async () => activation;
    const headset = world.dial(instance, { hello: {} });
    expect(await headset.next('welcome')).toMatchObject({ sessionEpoch: 1n, activation });
  });

  it('contains the time of the hello, so that times derived from it are never before the hello', async () => {
    // A clock that advances with each reading.
    let looks = 0;
    const now = world.clock.now.bind(world.clock);
    world.clock.now = () => now() + 10 * looks++;
    const { serverTimeMs } = await world.dial(instance, { hello: {} }).next('welcome');
    const [hello] = await waitFor('the hello', async () => {
      const all = await world.reports(topics.deviceReports);
      return all.length > 0 && all;
    });
    expect(hello?.receivedAtMs).toBe(serverTimeMs);
  });

  it('contains the activation as read after the registration, so that later changes are sent', async () => {
    const reachable: unknown[] = [];
    world.onActivation = async () => {
      reachable.push(await sessionEpoch());
      return activation;
    };
    await world.dial(instance, { hello: {} }).next('welcome');
    expect(reachable).toEqual([1n]);
  });

  it('is sent before offers that arrive while the activation is read', async () => {
    const answer = Promise.withResolvers<typeof activation>();
    world.onActivation = () => answer.promise;
    const headset = world.dial(instance, { hello: {} });
    await waitFor('the session', sessionEpoch);
    expect(await instance.dispatch(deviceId, offer(1))).toEqual([1n]);
    answer.resolve(activation);
    expect(await headset.next('welcome')).toMatchObject({ activation });
    expect(await headset.next('offer')).toMatchObject({ transactionId: 1n });
  });

  it('is sent without the activation if devices does not answer in time, and the session continues', async () => {
    world.onActivation = () => new Promise(() => {});
    const headset = world.dial(instance, { hello: {} });
    expect((await headset.next('welcome')).activation).toBeUndefined();
    expect(await instance.dispatch(deviceId, offer(1))).toEqual([1n]);
    expect(await headset.next('offer')).toMatchObject({ transactionId: 1n });
  });

  it('is sent without the activation if devices fails, or does not know the device', async () => {
    world.onActivation = async () => {
      throw new DomainError('unavailable', 'away');
    };
    const first = world.dial(instance, { hello: {} });
    expect((await first.next('welcome')).activation).toBeUndefined();
    world.onActivation = async () => undefined;
    const second = world.dial(instance, { hello: {} });
    expect((await second.next('welcome')).activation).toBeUndefined();
  });

  it('is not sent to a session that was replaced while the activation was read', async () => {
    const answer = Promise.withResolvers<typeof activation>();
    world.onActivation = () => answer.promise;
    const first = world.dial(instance, { hello: {} });
    await waitFor('the first session', sessionEpoch);
    const second = world.dial(instance, { hello: {} });
    expect(await first.next('goAway')).toMatchObject({ reason: GoAwayReason.SUPERSEDED });
    answer.resolve(activation);
    expect(await second.next('welcome')).toMatchObject({ sessionEpoch: 2n, activation });
    expect(first.received.map((body) => body.case)).toEqual(['goAway']);
  });

  it('is published with the activation epoch of the hello', async () => {
    world.onActivation = async () => activation;
    await world.dial(instance, { hello: { activationEpoch: 3n } }).next('welcome');
    const [hello] = await waitFor('the hello', async () => {
      const events = await world.reports(topics.deviceReports);
      return events.length > 0 && events;
    });
    expect(hello).toMatchObject({ activationEpoch: 5n });
  });
});

describe('reading activations', () => {
  const logger = createLogger({ service: 'test', level: 'silent' });

  it('limits concurrent calls, and skips a headset that waited too long', async () => {
    const time = createFakeTime();
    const asked: string[] = [];
    const read = createActivationReader({
      devices: {
        getCurrentActivation: async ({ deviceId: id }) => {
          asked.push(id ?? '');
          return new Promise(() => {});
        },
      } as Parameters<typeof createActivationReader>[0]['devices'],
      limiter: createLimiter(2, 100),
      ...{ logger, time, deadlineMs: 50 },
    });
    const reading = Promise.all(Array.from({ length: 20 }, (_, n) => read(String(n))));
    await time.advance(50);
    const answers = await reading;
    expect(answers).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(asked).toEqual(['0', '1']);
  });
});
