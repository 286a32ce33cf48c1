import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import type { Component } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { peersPort } from '@headset-cloud/kit/rpc/peers-port.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { Registry } from 'prom-client';
import { assembleShares } from './assemble.ts';
import type { Shares } from './shares.ts';

const logger = createLogger({ service: 'gateway', level: 'silent' });
const running: Component[] = [];
afterEach(async () => {
  for (const component of running.splice(0).reverse()) await component.stop(0);
});

/** Gateways of one platform, as processes have them. */
async function startGateways(count: number): Promise<Shares[]> {
  const ports = await freePorts(count);
  const peers = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const host = () => ({ security: undefined, logger, clock: systemClock, metrics: new Registry() });
  const made = ports.map((port) => {
    const its = assembleShares({ GATEWAY_PEERS: count === 1 ? undefined : peers }, host());
    const listen = { GRPC_LISTEN: { host: '127.0.0.1', port }, RPC_CONNECTION_AGE_MS: 60_000 };
    return { ...its, port: peersPort(its.bindings, listen, host()) };
  });
  for (const { port, components } of made) {
    for (const component of [port, ...components]) {
      await component.start();
      running.push(component);
    }
  }
  return made.map(({ shares }) => shares);
}

const limits = { callsPerSecond: 200, callsBurst: 100, callsUnderWay: 40, deviceChangesPerSecond: 100 };
const admitted = (call: () => void): boolean => {
  try {
    call();
    return true;
  } catch {
    return false;
  }
};
const measuredMs = 4000;

/** What is taken in a second. */
async function rates(taken: Readonly<Record<'calls' | 'changes', number>>) {
  const before = { ...taken };
  const began = performance.now();
  await waitFor('the time to pass', async () => performance.now() - began > measuredMs, {
    timeoutMs: 20_000,
  });
  const seconds = (performance.now() - began) / 1000;
  return {
    calls: (taken.calls - before.calls) / seconds,
    changes: (taken.changes - before.changes) / seconds,
  };
}

test.each([1, 2, 4])(
  'a rate holds for %d gateways together',
  async (count) => {
    const gateways = await startGateways(count);
    const taken = { calls: 0, changes: 0 };
    // Ten times the rate, in turns.
    const flood = () => {
      for (let i = 0; i < 20; i++) {
        for (const shares of gateways) {
          if (admitted(() => shares.enter('client', 'app', limits)())) taken.calls++;
          if (admitted(() => shares.change('client', 'device', limits))) taken.changes++;
        }
      }
    };
    const timer = setInterval(flood, 5);
    try {
      // The bursts are used up, and what all gateways took before they were told is paid back.
      await waitFor(
        'the flood to be refused',
        async () => taken.calls > 100 * count + 100 && taken.changes > 200 * count + 50,
        {
          timeoutMs: 20_000,
        },
      );
      // What the machine itself held up, or what is still paid back, is not the rate: it settles.
      await waitFor(
        'both rates to hold',
        async () => {
          const { calls, changes } = await rates(taken);
          return calls > 200 * 0.8 && calls < 200 * 1.2 && changes > 100 * 0.8 && changes < 100 * 1.2;
        },
        { timeoutMs: 6 * measuredMs },
      );
    } finally {
      clearInterval(timer);
    }
  },
  60_000,
);

test('the limit of calls under way holds for four gateways together', async () => {
  const gateways = await startGateways(4);
  const unbounded = { ...limits, callsPerSecond: 1_000_000, callsBurst: 1_000_000 };
  const leave: (() => void)[] = [];
  let most = 0;
  const seen: number[] = [];
  const timer = setInterval(() => {
    // A call takes a few turns, and more come than may be under way.
    for (let i = 0; i < leave.length / 10; i++) leave.shift()?.();
    for (const shares of gateways) {
      for (let i = 0; i < 20; i++) admitted(() => leave.push(shares.enter('client', 'app', unbounded)));
    }
    most = Math.max(most, leave.length);
    seen.push(leave.length);
  }, 5);
  try {
    await waitFor('the gateways to have told each other', async () => seen.length > 200, {
      timeoutMs: 20_000,
    });
    const later = seen.slice(100);
    const mean = later.reduce((sum, n) => sum + n, 0) / later.length;
    expect(mean).toBeGreaterThan(40 * 0.8);
    expect(mean).toBeLessThan(40 * 1.2);
  } finally {
    clearInterval(timer);
  }
}, 60_000);
