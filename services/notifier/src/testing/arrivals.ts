import type { Answer, IntegratorServer } from '@headset-cloud/demo/integrator/server.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { beforeEach } from '@jest/globals';
import type { DeliveryDocument } from '../store/documents.ts';
import { type Fixture, status } from './fixture.ts';
import type { encode, TestNotifier } from './world.ts';

type Event = Parameters<typeof encode>[0];

/** A callback of application a-1, by default the first of a separate order key. */
export const event = (id: string, more: Event = {}): Event => ({
  ...{ notificationId: id, applicationId: 'a-1', orderKey: id, sequence: 1, ...more },
});

export const delivered = (notifier: TestNotifier, id: string) =>
  waitFor(`${id} is stored as delivered`, async () => {
    return (await status(notifier, id).catch(() => '')) === 'delivered';
  });

/** An integrator's server for application a-1 that returns the stored record of a callback at its arrival. */
export interface Arrivals {
  readonly server: IntegratorServer;
  /** Answers by callback; default 204. */
  readonly answers: Map<string, () => Answer | Promise<Answer>>;
  /** Stored record of each callback at its first arrival. */
  readonly atArrival: ReadonlyMap<string, DeliveryDocument | null>;
  record(id: string): Promise<DeliveryDocument | null>;
  arrived(id: string): Promise<unknown>;
  /** Delays the answer to the first attempt of a callback until the test resolves it. */
  hold(id: string): PromiseWithResolvers<Answer>;
  /**
   * Stores a callback like another instance that works on it: like `known`, which is delivered, except these fields.
   */
  storeAsOthers(id: string, fields: Partial<DeliveryDocument>): Promise<void>;
}

/** Must be called once in a test file. */
export function useArrivals(use: Fixture): Arrivals {
  let server: IntegratorServer;
  const answers: Arrivals['answers'] = new Map();
  const atArrival = new Map<string, DeliveryDocument | null>();
  const deliveries = () => use.world.store.collection<DeliveryDocument>('deliveries');
  const record = (id: string) => deliveries().findOne({ _id: id });
  beforeEach(async () => {
    answers.clear();
    atArrival.clear();
    server = await use.integrator(async ({ webhookId }) => {
      if (!atArrival.has(webhookId)) atArrival.set(webhookId, await record(webhookId));
      return (await answers.get(webhookId)?.()) ?? { status: 204 };
    });
    use.pointTo('a-1', server);
  });
  return {
    get server() {
      return server;
    },
    ...{ answers, atArrival, record },
    arrived: (id) => waitFor(`${id} has arrived`, () => atArrival.has(id)),
    hold(id) {
      const answer = Promise.withResolvers<Answer>();
      let tries = 0;
      answers.set(id, () => (tries++ === 0 ? answer.promise : { status: 204 }));
      return answer;
    },
    async storeAsOthers(id, fields) {
      const { _id: _, expireAt: __, ...known } = (await record('known')) as DeliveryDocument;
      await deliveries().insertOne({
        ...{ ...known, _id: id, status: 'pending', owner: 'other', orderKey: id, sequence: 1 },
        ...{ attempts: 0, deliveredAtMs: 0, recentAttempts: [], ...fields },
      });
    },
  };
}
