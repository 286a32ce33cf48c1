import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { peersPort } from '@headset-cloud/rpc/peers-port.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Registry } from 'prom-client';
import { assembleShares } from './assemble.ts';
import { createShares, reportEveryMs, type Shares } from './shares.ts';

const limits = { callsPerSecond: 200, callsBurst: 100, callsUnderWay: 40, deviceChangesPerSecond: 100 };
const unbounded = { ...limits, callsPerSecond: 1_000_000, callsBurst: 1_000_000 };
const admitted = (call: () => void): boolean => {
  try {
    call();
    return true;
  } catch {
    return false;
  }
};

const running: Component[] = [];
afterEach(async () => {
  for (const component of running.splice(0).reverse()) await component.stop(0);
});

/** Gateways of one platform, assembled like in processes. */
async function startGateways(count: number, time: FakeTime): Promise<Shares[]> {
  const ports = await freePorts(count);
  const peers = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const logger = createLogger({ service: 'gateway', level: 'silent' });
  const host = () => ({ security: undefined, logger, clock: time, time, metrics: new Registry() });
  const made = ports.map((port) => {
    const its = assembleShares({ GATEWAY_PEERS: peers }, host());
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

test('gateways report the usage of clients to each other', async () => {
  const time = createFakeTime();
  const [first, second, third] = (await startGateways(3, time)) as [Shares, Shares, Shares];
  /** True if a client may make all its calls at this gateway. */
  const isFree = (shares: Shares) => {
    const leave: (() => void)[] = [];
    const all = Array.from({ length: 40 }, () =>
      admitted(() => leave.push(shares.enter('client', 'app', unbounded))),
    );
    for (const one of leave) one();
    return !all.includes(false);
  };
  for (const shares of [first, second, third]) expect(isFree(shares)).toBe(true);
  const calls = Array.from({ length: 40 }, () => first.enter('client', 'app', unbounded));
  for (const other of [second, third]) {
    await waitFor('the report about calls at another gateway', async () => {
      await time.advance(reportEveryMs);
      return !isFree(other);
    });
  }
  for (const leave of calls) leave();
  for (const other of [second, third]) {
    await waitFor('the report about their end', async () => {
      await time.advance(reportEveryMs);
      return isFree(other);
    });
  }
});

/** Gateways that report to each other at each interval. `run` advances seconds, and calls `step` every 5 ms. */
function simulate(count: number) {
  const at = { ms: 0 };
  const clock = { now: () => at.ms };
  const gateways = Array.from({ length: count }, () => createShares({ clock, hasPeers: count > 1 }));
  const reportAll = () => {
    const reports = gateways.map((shares) => shares.takeReports());
    for (const [i, shares] of gateways.entries()) {
      for (const [from, of] of reports.entries()) if (from !== i) shares.addReports(`gateway-${from}`, of);
    }
  };
  const run = (seconds: number, step: () => void) => {
    for (const untilMs = at.ms + seconds * 1000; at.ms < untilMs; ) {
      at.ms += 5;
      if (at.ms % reportEveryMs === 0 && count > 1) reportAll();
      step();
    }
  };
  return { gateways, run };
}

test.each([1, 2, 4])('a rate applies to %d gateways together', (count) => {
  const { gateways, run } = simulate(count);
  const taken = { calls: 0, changes: 0 };
  // Ten times the rate, at alternating gateways.
  const flood = () => {
    for (let i = 0; i < 20; i++) {
      for (const shares of gateways) {
        if (admitted(() => shares.enter('client', 'app', limits)())) taken.calls++;
        if (admitted(() => shares.change('client', 'device', limits))) taken.changes++;
      }
    }
  };
  // The bursts are used up, and usage that was reported late is subtracted.
  run(10, flood);
  const before = { ...taken };
  run(4, flood);
  const rates = { calls: (taken.calls - before.calls) / 4, changes: (taken.changes - before.changes) / 4 };
  expect(rates.calls).toBeGreaterThan(200 * 0.9);
  expect(rates.calls).toBeLessThan(200 * 1.1);
  expect(rates.changes).toBeGreaterThan(100 * 0.9);
  expect(rates.changes).toBeLessThan(100 * 1.1);
});

test('the limit of concurrent calls applies to four gateways together', () => {
  const { gateways, run } = simulate(4);
  const leave: (() => void)[] = [];
  const seen: number[] = [];
  run(1, () => {
    // A call takes several rounds, and more calls arrive than may run.
    for (let i = 0; i < leave.length / 10; i++) leave.shift()?.();
    for (const shares of gateways) {
      for (let i = 0; i < 20; i++) admitted(() => leave.push(shares.enter('client', 'app', unbounded)));
    }
    seen.push(leave.length);
  });
  const later = seen.slice(100);
  const mean = later.reduce((sum, n) => sum + n, 0) / later.length;
  expect(mean).toBeGreaterThan(40 * 0.8);
  expect(mean).toBeLessThan(40 * 1.2);
});
