import { DomainError } from './errors.ts';
import { type Component, Lifecycle } from './lifecycle.ts';
import { createLogger } from './logger.ts';
import { createStartUp, StartStoppedError } from './start-up.ts';
import { createFakeTime } from './testing/fake-time.ts';
import { waitFor } from './testing/wait.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const component = (name: string, more: Partial<Component> = {}): Component => ({
  ...{ name, start: async () => {}, stop: async () => {} },
  ...more,
});

test('warnings of components are warnings of the process, and do not change its readiness', async () => {
  const lifecycle = new Lifecycle(logger);
  const warning = { name: 'storage_unavailable', message: 'bucket b: not found' };
  await lifecycle.start(component('silent'));
  await lifecycle.start(component('warning', { warnings: () => [warning] }));
  lifecycle.complete();
  expect(lifecycle.notReady()).toEqual([]);
  expect(lifecycle.warnings()).toEqual([warning]);
  await lifecycle.stop();
});

describe('one deadline for the whole stop', () => {
  /** Stops components with these stop functions, in this order; returns the time limits they got and the duration. */
  async function stopped(graceMs: number, ...stops: ((forMs: number) => Promise<unknown>)[]) {
    const time = createFakeTime();
    const lifecycle = new Lifecycle(logger, { stopGraceMs: graceMs }, time);
    const limits: number[] = [];
    for (const [index, stop] of [...stops.entries()].reverse()) {
      const own = async (forMs = Number.NaN) => {
        limits[index] = forMs;
        await stop(forMs);
      };
      await lifecycle.start(component(`${index}`, { stop: own }));
    }
    lifecycle.complete();
    let tookMs = Number.NaN;
    const stopping = lifecycle.stop().then(() => {
      tookMs = time.monotonicNow();
    });
    await time.advance(graceMs);
    await stopping;
    return { limits, tookMs };
  }
  const atOnce = async () => {};
  const never = () => new Promise(() => {});

  test('unused time of the first components is left to the later ones', async () => {
    const { limits } = await stopped(100_000, atOnce, atOnce, atOnce);
    const [first = 0, second = 0, last = 0] = limits;
    expect(first).toBeGreaterThan(40_000);
    expect(second).toBeGreaterThan(first);
    expect(last).toBeGreaterThan(85_000);
    expect(last).toBeLessThanOrEqual(100_000);
  });

  test('is met even if no component stops, and each component gets a share of the time', async () => {
    const { limits, tookMs } = await stopped(3000, never, never, never, never);
    expect(limits).toHaveLength(4);
    expect(Math.min(...limits)).toBeGreaterThan(20);
    expect(tookMs).toBe(3000);
  });

  test('a component that aborts its work at its time limit stops in time', async () => {
    const lines: unknown[] = [];
    const late = { ...logger, error: (line: unknown) => lines.push(line) } as unknown as typeof logger;
    const time = createFakeTime();
    const lifecycle = new Lifecycle(late, { stopGraceMs: 3000 }, time);
    await lifecycle.start(component('drains', { stop: (forMs = 0) => time.sleep(forMs) }));
    const stopping = lifecycle.stop();
    await time.advance(3000);
    await stopping;
    expect(lines).toEqual([]);
  });
});

test('after SIGTERM a process reports not ready and continues to serve before it stops', async () => {
  const time = createFakeTime();
  const lifecycle = new Lifecycle(logger, { stopDelayMs: 100 }, time);
  const steps: string[] = [];
  await lifecycle.start(
    component('server', {
      beginDrain: () => {
        steps.push('redirects callers');
      },
      stop: async () => {
        steps.push('stops');
      },
    }),
  );
  lifecycle.complete();
  expect(lifecycle.notReady()).toEqual([]);
  const stopped = lifecycle.stop();
  expect(lifecycle.notReady()).toEqual(['shutting down']);
  await time.advance(99);
  expect(steps).toEqual(['redirects callers']);
  await time.advance(1);
  await stopped;
  expect(steps).toEqual(['redirects callers', 'stops']);
});

test('while it starts, readiness names what it waits for and which components are not ready', async () => {
  const lifecycle = new Lifecycle(logger, { waitsFor: () => 'waits for the indexes' });
  await lifecycle.start(component('MongoDB', { notReady: () => 'no server' }));
  expect(lifecycle.notReady()).toEqual(['starting: waits for the indexes', 'MongoDB: no server']);
  await lifecycle.stop();
});

describe('a start', () => {
  const away = () => new DomainError('unavailable', 'away');

  test('retries an unavailable store until it is available', async () => {
    const time = createFakeTime();
    const startUp = createStartUp(logger, time);
    let tries = 0;
    const answer = startUp.retry('the store', async () => {
      tries += 1;
      if (tries > 1) expect(startUp.waitsFor()).toContain(`waits for the store (tried ${tries - 1} times)`);
      if (tries < 4) throw away();
      return 'there';
    });
    await time.advance(100 + 200 + 400);
    expect([await answer, tries, startUp.waitsFor()]).toEqual(['there', 4, undefined]);
  });

  test('fails at once on an error that a retry cannot fix', async () => {
    const startUp = createStartUp(logger);
    const wrong = () => Promise.reject(new TypeError('wrong'));
    await expect(startUp.retry('the store', wrong)).rejects.toThrow('wrong');
  });

  test.each([
    ['between two tries', () => Promise.reject(away())],
    ['during a try that is never answered', () => new Promise(() => {})],
  ])('ends at once on stop %s', async (_, work) => {
    const startUp = createStartUp(logger);
    let tries = 0;
    const starting = startUp.retry('the store', () => {
      tries += 1;
      return work();
    });
    await waitFor('a try', () => tries > 0);
    startUp.stop();
    await expect(starting).rejects.toThrow(StartStoppedError);
    await expect(startUp.retry('more', work)).rejects.toThrow(StartStoppedError);
  });
});
