import {
  type Answer,
  type IntegratorServer,
  startIntegrator,
} from '@headset-cloud/demo/integrator/server.ts';
import { afterEach, beforeEach } from '@jest/globals';
import { openWorld, type TestNotifier, type World } from './world.ts';

export const key = 'the authentication key';

/** The wall-clock time of `ms` ago, in milliseconds since 1970. */
export const ago = (ms: number) => Date.now() - ms;

/** Integrators' servers that end with each test, and a new world for each test. */
export interface Fixture {
  readonly world: World;
  integrator(
    answer?: (callback: { webhookId: string }) => Answer | Promise<Answer>,
    keys?: readonly string[],
  ): Promise<IntegratorServer>;
  /** Sets the URL for callbacks of an application. */
  pointTo(applicationId: string, server: IntegratorServer, authenticationKey?: string): void;
}

/** Must be called once in a test file. */
export function useWorld(): Fixture {
  let world: World;
  const servers: IntegratorServer[] = [];
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(async () => {
    await world.close();
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  return {
    get world() {
      return world;
    },
    async integrator(answer, keys = [key]) {
      const server = await startIntegrator({ keys, ...(answer && { answer }) });
      servers.push(server);
      return server;
    },
    pointTo(applicationId, server, authenticationKey = key) {
      world.destinations.set(applicationId, { url: `${server.origin}/callbacks?x=1`, authenticationKey });
    },
  };
}

/** Ids of accepted callbacks, in order, and of all that arrived. */
export const ids = (server: IntegratorServer) => server.received.map((arrival) => arrival.webhookId);
export const seen = (server: IntegratorServer) => server.arrivals.map((arrival) => arrival.webhookId);

export async function status(notifier: TestNotifier, notificationId: string) {
  const { delivery } = await notifier.admin.getDelivery({ notificationId });
  return delivery?.status;
}
