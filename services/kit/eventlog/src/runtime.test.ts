import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type DeliveryOptions, deliver } from './runtime.ts';
import { type LogEvent, PoisonEventError } from './types.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const away = () => new DomainError('unavailable', 'The database is unavailable.');

const batchOf = (count: number): LogEvent[] =>
  Array.from({ length: count }, (_, n) => ({
    topic: 't',
    key: 'k',
    value: Buffer.from(String(n)),
    headers: {},
    position: `0:${n}`,
    timestampMs: 0,
  }));
const number = (event: LogEvent) => Number(Buffer.from(event.value).toString());

/** Runs a delivery and notes what happened. */
function setUp(handle: (numbers: number[], events: readonly LogEvent[]) => Promise<void> | void) {
  const calls: number[][] = [];
  const dead: { event: number; error: unknown }[] = [];
  const durable: number[] = [];
  const closing = new AbortController();
  const options: DeliveryOptions = {
    group: 'g',
    logger,
    signal: closing.signal,
    backoff: { firstMs: 1, maxMs: 4 },
    handle: async (events) => {
      calls.push(events.map(number));
      await handle(events.map(number), events);
    },
    deadLetter: async (event, error) => {
      dead.push({ event: number(event), error });
    },
    held: () => true,
    onHandled: (count) => durable.push(count),
  };
  return { calls, dead, durable, closing, options };
}

test('a batch that is handled is durable at once, in one call', async () => {
  const { options, calls, durable } = setUp(() => {});
  expect(await deliver(batchOf(3), options)).toBe(true);
  expect(calls).toEqual([[0, 1, 2]]);
  expect(durable).toEqual([3]);
});

test('a transient failure is retried far more often than any other, and no event becomes a dead letter', async () => {
  let left = 50;
  const { options, calls, dead, durable } = setUp(() => {
    if (left-- > 0) throw away();
  });
  expect(await deliver(batchOf(2), options)).toBe(true);
  expect(calls).toHaveLength(51);
  expect(dead).toEqual([]);
  expect(durable).toEqual([2]);
});

test('a batch that takes too long is split into smaller ones, in order, however slow it is', async () => {
  const timedOut = () => Object.assign(new Error('timed out'), { name: 'MongoNetworkTimeoutError' });
  const { options, calls, dead, durable } = setUp((numbers) => {
    if (numbers.length > 3) throw timedOut();
  });
  expect(await deliver(batchOf(40), options)).toBe(true);
  expect(calls.filter(({ length }) => length <= 3).flat()).toEqual(Array.from({ length: 40 }, (_, n) => n));
  expect(dead).toEqual([]);
  expect(durable.at(-1)).toBe(40);
});

test('only the named poison event becomes a dead letter, and the rest is retried in order', async () => {
  const { options, calls, dead, durable } = setUp((numbers, events) => {
    const at = numbers.indexOf(1);
    if (at >= 0) throw new PoisonEventError(events[at] as LogEvent, 'cannot be read');
  });
  expect(await deliver(batchOf(4), options)).toBe(true);
  expect(calls).toEqual([
    [0, 1, 2, 3],
    [0, 2, 3],
  ]);
  expect(dead).toEqual([{ event: 1, error: expect.any(PoisonEventError) }]);
  expect(durable.at(-1)).toBe(4);
});

test('a batch of poison events is durable when all of them are dead letters', async () => {
  const { options, dead, durable } = setUp((_, events) => {
    throw new PoisonEventError(events[0] as LogEvent, 'cannot be read');
  });
  expect(await deliver(batchOf(3), options)).toBe(true);
  expect(dead.map((d) => d.event)).toEqual([0, 1, 2]);
  expect(durable).toEqual([3]);
});

test('after any other failure the batch is bisected down to the failing events; the others are handled once, in order', async () => {
  const handled: number[] = [];
  const { options, calls, dead, durable } = setUp((numbers) => {
    if (numbers.includes(5) || numbers.includes(6)) throw new TypeError('cannot');
    handled.push(...numbers);
  });
  expect(await deliver(batchOf(16), options)).toBe(true);
  expect(handled).toEqual([0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  expect(dead.map((d) => d.event)).toEqual([5, 6]);
  expect(calls.slice(0, 3).every((call) => call.length === 16)).toBe(true);
  expect(calls.filter((call) => call.length === 1 && call[0] === 5)).toHaveLength(3);
  expect(durable).toEqual([...durable].sort((a, b) => a - b));
  expect(durable.at(-1)).toBe(16);
});

test('only the contiguous prefix is ever durable while later events still fail', async () => {
  const { options, durable, closing } = setUp((numbers) => {
    if (numbers.length === 8) throw new TypeError('cannot');
    if (numbers.includes(4)) {
      closing.abort();
      throw away();
    }
  });
  expect(await deliver(batchOf(8), options)).toBe(false);
  expect(durable).toEqual([4]);
});

test('no event is lost if a failure is not transient but does not occur again', async () => {
  let left = 2;
  const { options, calls, dead } = setUp(() => {
    if (left-- > 0) throw new Error('once more');
  });
  expect(await deliver(batchOf(5), options)).toBe(true);
  expect(calls).toHaveLength(3);
  expect(dead).toEqual([]);
});

test('the offset does not pass an event before its dead letter is stored', async () => {
  let left = 5;
  const { options, dead, durable } = setUp(() => {
    throw new Error('never');
  });
  const deadLetter: DeliveryOptions['deadLetter'] = async (event, error) => {
    expect(durable).toEqual([]);
    if (left-- > 0) throw away();
    dead.push({ event: number(event), error });
  };
  expect(await deliver(batchOf(1), { ...options, deadLetter })).toBe(true);
  expect(dead).toHaveLength(1);
  expect(durable).toEqual([1]);
});

test('closing ends a wait at once and does not move the offset', async () => {
  const { options, calls, durable, closing } = setUp(() => {
    throw away();
  });
  const delivered = deliver(batchOf(2), { ...options, backoff: { firstMs: 60_000, maxMs: 60_000 } });
  await waitFor('the first try', () => calls.length === 1);
  closing.abort();
  expect(await delivered).toBe(false);
  expect(durable).toEqual([]);
});

test('heartbeats continue while a handler works; when the partition is lost, delivery stops after the current call', async () => {
  let beats = 0;
  const { options, calls, durable } = setUp(async () => {
    await waitFor('two heartbeats', () => beats >= 2);
    throw away();
  });
  const heartbeat = async () => {
    beats += 1;
    if (beats === 2) throw new Error('rebalancing');
  };
  expect(await deliver(batchOf(2), { ...options, heartbeat })).toBe(false);
  expect(calls).toHaveLength(1);
  expect(durable).toEqual([]);
});
