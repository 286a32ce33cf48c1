import { createContentChecks } from './content-checks.ts';

const firmware = { kind: 'firmware' } as const;
/** A fetch that continues until it is ended. */
function fetching() {
  const under: PromiseWithResolvers<never>[] = [];
  const fetch = (signal: AbortSignal) => {
    const one = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => one.reject(signal.reason));
    under.push(one);
    return one.promise;
  };
  return { under, fetch };
}
const settled = () => new Promise(setImmediate);

test('a thousand files of one developer wait or are postponed; a file of another developer is checked at once', async () => {
  const checks = createContentChecks({ atOnce: 2, timeoutMs: 1000 });
  const flood = fetching();
  const flooded = Array.from({ length: 1000 }, () => checks.check('a', firmware, flood.fetch));
  const postponed = Promise.all(flooded.slice(21)).then((answers) =>
    answers.every((one) => one === undefined),
  );
  expect(await postponed).toBe(true);
  expect([flood.under.length, checks.running(), checks.waiting()]).toEqual([1, 1, 20]);
  const other = fetching();
  const others = checks.check('b', firmware, other.fetch);
  await settled();
  expect(other.under).toHaveLength(1);
  const stopped = Promise.allSettled([...flooded.slice(0, 21), others]);
  await checks.stop();
  for (const one of await stopped) {
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
  }
});

test('the number of concurrent checks is limited, and a failed fetch frees its slot', async () => {
  const checks = createContentChecks({ atOnce: 2, timeoutMs: 1000 });
  const { under, fetch } = fetching();
  const all = ['a', 'b', 'c', 'd'].map((owner) => checks.check(owner, firmware, fetch));
  const ended = Promise.allSettled(all);
  await settled();
  expect(under).toHaveLength(2);
  for (let i = 0; i < 4; i += 1) {
    under[i]?.reject(new Error('away'));
    await settled();
    expect(checks.running()).toBeLessThanOrEqual(2);
  }
  expect((await ended).map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
  expect(checks.running()).toBe(0);
});
