import type { ForgetDeviceRequest as ForgetCallbacks } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { ForgetDeviceRequest as ForgetTransactions } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type Listener, openListener } from './testing/listener.ts';
import { run } from './testing/run.ts';

const imei = '356938035643809';
let listener: Listener;
afterEach(() => listener.close());

/** Transactions 1 to `left.length` in pages of two, each with one callback. */
function platform(left: Set<bigint>, { pending = new Set<bigint>(), open = 0 } = {}) {
  const calls: string[] = [];
  const callbacks = new Set(left);
  const named = new Set<string>();
  let away = false;
  return {
    ...{ calls, callbacks, left, named },
    setAway(now: boolean) {
      away = now;
    },
    forget: {
      transactions({ transactionIds, after, dryRun, run }: ForgetTransactions) {
        named.add(run);
        for (const id of transactionIds) {
          if (callbacks.has(id)) throw new Error(`the callback of ${id} is still there`);
          left.delete(id);
        }
        calls.push(`transactions -${transactionIds}`);
        const from = after === '' ? 0n : BigInt(after.split(' ')[0] ?? '') || 99n;
        const page = [...left].filter((id) => id > from).slice(0, 2);
        return {
          forgotten: [{ what: 'transactions', removed: dryRun ? 0 : transactionIds.length }],
          ...{ transactionIds: page, open: page.length < 2 ? open : 0 },
          next: page.length === 2 ? `${page[1]} app` : '',
        };
      },
      notifier({ transactionIds, dryRun, run }: ForgetCallbacks) {
        if (away) throw new DomainError('unavailable', 'notifier is unavailable');
        named.add(run);
        const held = transactionIds.filter((id) => pending.has(id));
        let removed = 0;
        for (const id of transactionIds) {
          if (held.includes(id) || !callbacks.has(id)) continue;
          removed += 1;
          if (!dryRun) callbacks.delete(id);
        }
        return {
          forgotten: [{ what: 'callbacks', removed, left: held.length }],
          heldTransactionIds: held,
        };
      },
      communication: () => ({}),
    },
  };
}

const ctl = (args: string) => run(args, { ADMIN_URL: listener.url });
const forget = (more = '') => ctl(`devices forget ${imei} --reference R-1${more}`);

test('each page is removed after its callbacks, and the table shows the numbers', async () => {
  const { left, callbacks, calls, named, forget: answers } = platform(new Set([1n, 2n, 3n, 4n, 5n]));
  listener = await openListener({ forget: answers });
  const { code, out, err } = await forget();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect([left.size, callbacks.size]).toEqual([0, 0]);
  expect(calls.slice(-4)).toEqual([
    'transactions -',
    'transactions -1,2',
    'transactions -3,4',
    'transactions -5',
  ]);
  expect(out).toMatch(/^SERVICE +WHAT +REMOVED +LEFT\n/);
  expect(out).toMatch(/transactions +transactions +5 +-/);
  expect(out).toMatch(/notifier +callbacks +5 +-/);
  expect(out).toMatch(/devices +headset keys +1 +-/);
  // All calls of the command have one run id.
  expect(named.size).toBe(1);
});

test('--dry-run removes nothing and counts the same', async () => {
  const { left, callbacks, forget: answers } = platform(new Set([1n, 2n, 3n]));
  listener = await openListener({ forget: answers });
  const { code, out } = await forget(' --dry-run');
  expect(code).toBe(0);
  expect(out).toMatch(/^SERVICE +WHAT +WOULD REMOVE/);
  expect(out).toMatch(/transactions +transactions +3 +-/);
  expect([left.size, callbacks.size]).toEqual([3, 3]);
});

test('items with undelivered callbacks are kept and reported, and removed when the command is run again', async () => {
  const pending = new Set([2n]);
  const { left, forget: answers } = platform(new Set([1n, 2n, 3n]), { pending });
  listener = await openListener({ forget: answers });
  const { code, err } = await forget();
  expect([code, [...left]]).toEqual([1, [2n]]);
  expect(err).toContain('are left, because callbacks');
  pending.clear();
  expect((await forget()).code).toBe(0);
  expect(left.size).toBe(0);
}, 30_000);

test('unprocessed transactions prevent the command before anything is removed', async () => {
  const { left, forget: answers } = platform(new Set([1n]), { open: 1 });
  listener = await openListener({ forget: answers });
  const { code, out, err } = await forget();
  expect([code, out, left.size]).toEqual([1, '', 1]);
  expect(err).toContain('--end-open');
});

test('all pages are checked for unprocessed transactions, even while notifier is unavailable', async () => {
  const away = platform(new Set([1n, 2n, 3n]), { open: 1 });
  away.setAway(true);
  listener = await openListener({ forget: away.forget });
  const { code, err } = await forget();
  expect([code, err]).toEqual([1, expect.stringContaining('--end-open')]);
});

test('the reason for a failed service is one cell of the table', async () => {
  listener = await openListener({ forget: platform(new Set([1n])).forget });
  const { out } = await ctl(
    `--communication-admin http://127.0.0.1:2 devices forget ${imei} --reference R-1`,
  );
  expect(out).toMatch(
    /^communication +not done +- +Cannot reach .*\(ECONNREFUSED\)\. Start the platform .*$/m,
  );
});

test('an unavailable service is reported, and called when the command is run again', async () => {
  const away = platform(new Set([1n]));
  away.setAway(true);
  listener = await openListener({ forget: away.forget });
  const { code, out, err } = await forget();
  expect(code).not.toBe(0);
  expect(err).toMatch(/^Not done in notifier: /);
  expect(out).toMatch(/notifier +not done/);
  expect(away.left.size).toBe(1);
  away.setAway(false);
  expect((await forget()).code).toBe(0);
  expect(away.left.size).toBe(0);
});

test('a reference is required', async () => {
  listener = await openListener();
  expect((await ctl(`devices forget ${imei}`)).code).toBe(2);
});
