import { DomainError } from './errors.ts';
import { type Component, Lifecycle } from './lifecycle.ts';
import { createLogger } from './logger.ts';
import { createStartUp, StartStoppedError } from './start-up.ts';
import { waitFor } from './testing/wait.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const component = (name: string, more: Partial<Component> = {}): Component => ({
  ...{ name, start: async () => {}, stop: async () => {} },
  ...more,
});

test('a component with a longer stop time-out is waited for beyond the default limit', async () => {
  const lifecycle = new Lifecycle(logger, { stopTimeoutMs: 20 });
  const drained = Promise.withResolvers<void>();
  const order: string[] = [];
  const stop = (name: string) => async () => {
    order.push(name);
  };
  await lifecycle.start(component('store', { stop: stop('store') }));
  await lifecycle.start(component('stuck', { stop: () => new Promise(() => {}) }));
  await lifecycle.start(component('server', { stop: () => drained.promise, stopTimeoutMs: 60_000 }));
  lifecycle.complete();
  const stopped = lifecycle.stop().then(() => order.push('stopped'));
  // Far longer than the others have.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(order).toEqual([]);
  drained.resolve();
  await stopped;
  expect(order).toEqual(['store', 'stopped']);
});

test('a process that is told to stop reports not ready and goes on serving before it stops', async () => {
  const lifecycle = new Lifecycle(logger, { turnAwayMs: 100 });
  const steps: string[] = [];
  await lifecycle.start(
    component('server', {
      turnAway: () => {
        steps.push('turns away');
      },
      stop: async () => {
        steps.push('stops');
      },
    }),
  );
  lifecycle.complete();
  expect(lifecycle.notReady()).toEqual([]);
  const began = performance.now();
  const stopped = lifecycle.stop();
  expect(lifecycle.notReady()).toEqual(['shutting down']);
  expect(steps).toEqual(['turns away']);
  await stopped;
  expect(steps).toEqual(['turns away', 'stops']);
  expect(performance.now() - began).toBeGreaterThanOrEqual(95);
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
    const startUp = createStartUp(logger);
    let tries = 0;
    const answer = await startUp.retry('the store', async () => {
      tries += 1;
      if (tries > 1) expect(startUp.waitsFor()).toContain(`waits for the store (tried ${tries - 1} times)`);
      if (tries < 4) throw away();
      return 'there';
    });
    expect([answer, tries, startUp.waitsFor()]).toEqual(['there', 4, undefined]);
  });

  test('fails at once on an error that waiting cannot fix', async () => {
    const startUp = createStartUp(logger);
    const wrong = () => Promise.reject(new TypeError('wrong'));
    await expect(startUp.retry('the store', wrong)).rejects.toThrow('wrong');
  });

  test.each([
    ['between two tries', () => Promise.reject(away())],
    ['during a try that is never answered', () => new Promise(() => {})],
  ])('that is told to stop ends at once %s', async (_, work) => {
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
