import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type Listener, openListener } from './testing/listener.ts';
import { run } from './testing/run.ts';

let listener: Listener;
afterEach(() => listener.close());

/** An application with transactions 1 to 5 in pages of two, and callbacks. */
function platform({ open = 0, pending = 0, devices = '' } = {}) {
  const calls: string[] = [];
  const runs = new Set<string>();
  const left = new Set([1n, 2n, 3n, 4n, 5n]);
  let callbacks = 5;
  let away = false;
  let late = 2;
  const noted = (name: string, { dryRun, run }: { dryRun: boolean; run: string }) => {
    runs.add(run);
    if (!dryRun) calls.push(name);
  };
  return {
    ...{ calls, runs, left },
    callbacks: () => callbacks,
    setAway(now: boolean) {
      away = now;
    },
    answers: {
      devices(request: { dryRun: boolean; run: string }) {
        if (devices !== '') throw new DomainError('conflict', devices);
        noted('devices', request);
        const more = !request.dryRun && calls.length === 1;
        return { forgotten: [{ what: 'IMEIs of its contract', removed: request.dryRun ? 40 : 20 }], more };
      },
      transactions(request: { after: bigint; dryRun: boolean; run: string; endOpen: boolean }) {
        noted('transactions', request);
        const page = [...left].filter((id) => id > request.after).slice(0, 2);
        if (!request.dryRun) for (const id of page) left.delete(id);
        if (!request.dryRun && request.endOpen) open = 0;
        return {
          forgotten: [{ what: 'transactions', removed: page.length }],
          open: page.length < 2 ? open : 0,
          next: page.length < 2 ? 0n : (page[1] ?? 0n),
        };
      },
      communication(request: { dryRun: boolean; run: string }) {
        if (away) throw new DomainError('unavailable', 'communication is unavailable');
        noted('communication', request);
        return { forgotten: [{ what: 'channels', removed: 1 }] };
      },
      notifier(request: { dryRun: boolean; run: string }) {
        noted('notifier', request);
        const removed = callbacks;
        if (!request.dryRun) {
          callbacks = 0;
          late -= 1;
        }
        return { forgotten: [{ what: 'callbacks', removed }], pending, more: !request.dryRun && late > 0 };
      },
    },
  };
}

const ctl = (args: string) => run(args, { ADMIN_URL: listener.url });
const forget = (more = '') => ctl(`applications forget app --reference R-1${more}`);

test('devices is first, communication follows after notifier has waited, all in one run, and the table shows the numbers', async () => {
  const { answers, calls, runs, left, callbacks } = platform();
  listener = await openListener({ forgetApplication: answers });
  const { code, out, err } = await forget();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect([left.size, callbacks(), runs.size]).toEqual([0, 0, 1]);
  expect(calls).toEqual([
    ...['devices', 'devices', 'transactions', 'transactions', 'transactions'],
    ...['notifier', 'notifier', 'communication'],
  ]);
  expect(out).toMatch(/devices +IMEIs of its contract +40 +-/);
  expect(out).toMatch(/transactions +transactions +5 +-/);
  expect(out).toMatch(/notifier +callbacks +5 +-/);
}, 15_000);

test('--dry-run removes nothing and counts the same', async () => {
  const { answers, calls, left } = platform();
  listener = await openListener({ forgetApplication: answers });
  const { code, out } = await forget(' --dry-run');
  expect([code, calls, left.size]).toEqual([0, [], 5]);
  expect(out).toMatch(/^SERVICE +WHAT +WOULD REMOVE/);
  expect(out).toMatch(/transactions +transactions +5 +-/);
});

test('the report as JSON names the application', async () => {
  listener = await openListener({ forgetApplication: platform().answers });
  const { out } = await ctl('--json applications forget app --reference R-1 --dry-run');
  expect(JSON.parse(out)).toMatchObject({ applicationId: 'app', dryRun: true });
});

test('devices, unprocessed transactions and callbacks to be delivered prevent the command before anything is removed', async () => {
  for (const [of, words] of [
    [{ devices: 'it has devices' }, 'it has devices'],
    [{ open: 2 }, '2 transactions of app are not processed'],
    [{ pending: 3 }, '3 callbacks of app are not delivered'],
  ] as const) {
    const { answers, calls } = platform(of);
    listener = await openListener({ forgetApplication: answers });
    const { code, out, err } = await forget();
    expect([code, out, calls]).toEqual([1, '', []]);
    expect(err).toContain(words);
    await listener.close();
  }
  listener = await openListener({ forgetApplication: platform({ open: 2, pending: 3 }).answers });
  expect((await forget(' --end-open')).code).toBe(0);
}, 15_000);

test('an unavailable service is reported, and called when the command is run again', async () => {
  const away = platform();
  away.setAway(true);
  listener = await openListener({ forgetApplication: away.answers });
  const { code, out, err } = await forget();
  expect(code).not.toBe(0);
  expect(err).toMatch(/^Not done in communication: .*Run it again: ctl applications forget app/);
  expect(out).toMatch(/communication +not done/);
  expect(away.callbacks()).toBe(0);
  away.setAway(false);
  expect((await forget()).code).toBe(0);
}, 15_000);
