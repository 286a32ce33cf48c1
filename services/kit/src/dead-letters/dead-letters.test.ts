import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from '@headset-cloud/embedded/store.ts';
import type { Document } from 'mongodb';
import { recordOf } from '../audit/record.ts';
import { DomainError } from '../errors.ts';
import {
  type EventLog,
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  type RunningSubscription,
} from '../eventlog/types.ts';
import { createLogger } from '../logger.ts';
import { bounded } from '../store/bounded.ts';
import type { Store, StoreCollection } from '../store/types.ts';
import { waitFor } from '../testing/wait.ts';
import { type DeadLetters, withDeadLetters } from './log.ts';
import { leaveLostLog } from './lost-log.ts';
import { LetterStore } from './store.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const topic = 'usage';
const group = 'billing-usage';
const event = (key: string, text: string) => ({ key, value: Buffer.from(text) });
const textOf = (one: LogEvent) => Buffer.from(one.value).toString();

let directory: string;
let nowMs: number;
let db: EmbeddedDatabase;
let stores: EmbeddedStoreConnection;
let base: EventLog;
/** The step at which the process is killed; fires once. */
let dieAt: string | undefined;

/** A process of the service: its log, its dead letters, and the events that its handler was given. */
interface Member {
  readonly log: EventLog;
  readonly deadLetters: DeadLetters;
  readonly handled: string[];
  running: RunningSubscription;
}

const keepMs = 40 * 86_400_000;

/** `understands`: throws for what this version cannot handle. */
async function start(
  understands: (text: string, event: LogEvent) => void,
  name = group,
  replayEveryMs = 20,
  store: Store = stores.database('billing'),
): Promise<Member> {
  const { log, deadLetters } = withDeadLetters(base, {
    store,
    logger,
    clock: { now: () => nowMs },
    failpoints: (step) => {
      if (step !== dieAt) return;
      dieAt = undefined;
      throw new Error('killed');
    },
    replayEveryMs,
    keepMs,
  });
  const handled: string[] = [];
  const running = await log.subscribe({
    topic,
    group: name,
    handle: async (events) => {
      for (const one of events) understands(textOf(one), one);
      handled.push(...events.map(textOf));
    },
  });
  return { log, deadLetters, handled, running };
}

const old = (text: string, one: LogEvent) => {
  if (text.startsWith('new')) throw new NewerVersionError(one, 'kind 9 is not known');
  if (text.startsWith('bad')) throw new PoisonEventError(one, 'not usage');
};
const upgraded = (text: string, one: LogEvent) => {
  if (text.startsWith('bad')) throw new PoisonEventError(one, 'not usage');
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dead-letters-'));
  nowMs = 1_000_000;
  dieAt = undefined;
  db = openEmbeddedDatabase({ directory, clock: { now: () => nowMs } });
  stores = createEmbeddedStore(db);
  base = createEmbeddedLog(db, logger);
  await base.ensureTopics([topic]);
});
afterEach(async () => {
  await base.close();
  await stores.close();
  await db.close();
  rmSync(directory, { recursive: true, force: true });
});

const publish = (...events: { key: string; value: Buffer }[]) => base.publish(topic, events);
/** The record that an operator's call owes. */
const asked = () => recordOf(nowMs, { target: 'a dead letter' });
const letters = async (member: Member, count: number) => {
  await waitFor(
    `${count} dead letters`,
    async () => (await member.deadLetters.list(100, false)).length === count,
  );
  return member.deadLetters.list(100, false);
};
const idOf = async (member: Member) => (await letters(member, 1))[0]?._id ?? '';

describe('poison', () => {
  let readable = false;
  const mended = (text: string, one: LogEvent) => {
    if (!readable) old(text, one);
  };
  beforeEach(() => {
    readable = false;
  });

  // withstands stores/poison
  test('it is set aside with its reason, and the rest of its key goes on', async () => {
    const member = await start(old);
    await publish(event('k', '1'), event('k', 'bad'), event('k', '2'));
    await waitFor('the rest', () => member.handled.includes('2'));
    expect(await letters(member, 1)).toMatchObject([
      {
        _id: `${topic}/0:2/${group}`,
        kind: 'poison',
        state: 'waiting',
        error: 'PoisonEventError: not usage',
      },
    ]);
  });

  test('a replay hands it to the group that set it aside and to no other, once, with its reason kept', async () => {
    const [member, other] = [await start(mended), await start(mended, 'another')];
    await publish(event('k', 'bad'));
    await letters(member, 2);
    readable = true;
    const id = `${topic}/0:1/${group}`;
    expect(await member.deadLetters.replay(id, 'the parser was mended', asked())).toMatchObject({
      state: 'replayed',
      reason: 'the parser was mended',
    });
    await expect(member.deadLetters.replay(id, 'once more', asked())).rejects.toMatchObject({
      code: 'conflict',
      message: 'It was replayed before (the parser was mended).',
    });
    await expect(member.deadLetters.discard(id, 'too late', asked())).rejects.toMatchObject({
      code: 'conflict',
    });
    expect([member.handled, other.handled]).toEqual([['bad'], []]);
  });

  test('of two operators who replay at once, in two processes, one does', async () => {
    const members = [await start(mended), await start(mended)];
    await publish(event('k', 'bad'));
    const id = await idOf(members[0] as Member);
    readable = true;
    const outcomes = await Promise.allSettled(
      members.map((one) => one.deadLetters.replay(id, 'mended', asked())),
    );
    expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(members.flatMap((one) => one.handled)).toEqual(['bad']);
  });

  test('a replay that fails again keeps it, with the new reason', async () => {
    const member = await start(old);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    await expect(member.deadLetters.replay(id, 'trying', asked())).rejects.toMatchObject({
      code: 'conflict',
      message: 'The event could not be handled again: PoisonEventError: not usage',
    });
    const letter = await member.deadLetters.get(id);
    expect(letter).toMatchObject({ state: 'waiting', kind: 'poison' });
    expect(letter?.steps.map((step) => step.what)).toEqual([
      'set aside: PoisonEventError: not usage',
      'failed again: PoisonEventError: not usage',
    ]);
  });

  test.each(['dead-letters.claimed', 'dead-letters.handled'])(
    'a replay whose process dies at %s is completed by the service, after its claim has run out',
    async (step) => {
      const member = await start(mended);
      await publish(event('k', 'bad'));
      const id = await idOf(member);
      readable = true;
      dieAt = step;
      await expect(member.deadLetters.replay(id, 'mended', asked())).rejects.toThrow('killed');
      await expect(member.deadLetters.replay(id, 'another', asked())).rejects.toMatchObject({
        message: 'It is being replayed just now.',
      });
      nowMs += 61_000;
      await waitFor('its end', async () => (await member.deadLetters.get(id))?.state === 'replayed');
      // Killed after the handler and before its outcome is stored: the event is handled again, as after any
      // crash.
      expect(member.handled).toEqual(step === 'dead-letters.handled' ? ['bad', 'bad'] : ['bad']);
      expect((await member.deadLetters.get(id))?.reason).toBe('mended');
    },
  );

  test('a replay that dies with its clock an hour ahead does not hold its event for an hour', async () => {
    const member = await start(mended);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    nowMs += 3_600_000;
    dieAt = 'dead-letters.claimed';
    await expect(member.deadLetters.replay(id, 'mended', asked())).rejects.toThrow('killed');
    nowMs -= 3_600_000;
    await waitFor('its end', async () => (await member.deadLetters.get(id))?.state === 'replayed');
    expect(member.handled).toEqual(['bad']);
  });

  test('an operator may discard what a replay claimed with its clock an hour ahead', async () => {
    const member = await start(mended, group, 3_600_000);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    nowMs += 3_600_000;
    dieAt = 'dead-letters.claimed';
    await expect(member.deadLetters.replay(id, 'mended', asked())).rejects.toThrow('killed');
    nowMs -= 3_600_000;
    expect(await member.deadLetters.discard(id, 'a test event', asked())).toMatchObject({
      state: 'discarded',
    });
  });

  test('a member whose clock is two minutes behind respects the claims of the others', async () => {
    const member = await start(mended);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    dieAt = 'dead-letters.claimed';
    await expect(member.deadLetters.replay(id, 'mended', asked())).rejects.toThrow('killed');
    nowMs -= 120_000;
    await expect(member.deadLetters.discard(id, 'too early', asked())).rejects.toMatchObject({
      message: 'It is being replayed just now.',
    });
  });

  test('a transient failure of a replay is reported, and the operator may replay again', async () => {
    let away = true;
    const member = await start((text, one) => {
      if (!readable) old(text, one);
      else if (away) throw new DomainError('unavailable', 'The database is away.');
    });
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    await expect(member.deadLetters.replay(id, 'mended', asked())).rejects.toMatchObject({
      code: 'unavailable',
    });
    away = false;
    expect(await member.deadLetters.replay(id, 'mended', asked())).toMatchObject({ state: 'replayed' });
  });

  test('discarding it ends it with its reason; nothing is handed over', async () => {
    const member = await start(mended);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    expect(await member.deadLetters.discard(id, 'a test event', asked())).toMatchObject({
      state: 'discarded',
      reason: 'a test event',
    });
    await expect(member.deadLetters.replay(id, 'after all', asked())).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await member.deadLetters.list(10, false)).toEqual([]);
    expect(await member.deadLetters.list(10, true)).toHaveLength(1);
    expect(member.handled).toEqual([]);
  });
});

describe('an event of a newer version', () => {
  test('waits with the later events of its key behind it; other keys and earlier events go on', async () => {
    const member = await start(old);
    await publish(event('k', '1'), event('k', 'new'), event('k', '2'), event('j', '3'));
    await publish(event('k', '4'), event('j', '5'));
    await waitFor('the other key', () => member.handled.includes('5'));
    expect((await letters(member, 3)).map((one) => one.kind).sort()).toEqual([
      'behind',
      'behind',
      'newer-version',
    ]);
    expect(member.handled.filter((text) => !['3', '5'].includes(text))).toEqual(['1']);
  });

  test('is replayed by itself after the upgrade, before everything behind it and everything later', async () => {
    const before = await start(old);
    await publish(event('k', 'new'), event('k', '1'), event('k', '2'));
    await letters(before, 3);
    await before.running.close();
    await publish(event('k', '3'), event('k', '4'));
    const after = await start(upgraded);
    await publish(event('k', '5'));
    await waitFor('all of it', () => after.handled.length >= 6);
    expect(after.handled).toEqual(['new', '1', '2', '3', '4', '5']);
    await waitFor('no line', async () => (await after.deadLetters.list(10, false)).length === 0);
  });

  test('keeps the order while old and new members of the group take turns', async () => {
    // The group's members handle batches in turn, as if the partition moved between them.
    const members = [await start(old), await start(upgraded), await start(old)];
    const order: string[] = [];
    for (const member of members) {
      const { push } = Array.prototype;
      member.handled.push = (...texts) => push.apply(order, texts);
    }
    const texts = Array.from({ length: 60 }, (_, n) => (n % 7 === 3 ? `new ${n}` : `${n}`));
    for (const text of texts) await publish(event('k', text));
    await waitFor('all of it', () => order.length >= texts.length, { timeoutMs: 20_000 });
    expect(order).toEqual(texts);
  });

  test('its line goes on after a replay of its head has died with its clock an hour ahead', async () => {
    const before = await start(old);
    await publish(event('k', 'new'), event('k', '1'));
    await letters(before, 2);
    await before.running.close();
    nowMs += 3_600_000;
    dieAt = 'dead-letters.handled';
    const dying = await start(upgraded);
    await waitFor('the death', () => dieAt === undefined);
    await dying.running.close();
    nowMs -= 3_600_000;
    const after = await start(upgraded);
    await waitFor('the line', () => after.handled.includes('1'));
    expect(after.handled).toEqual(['new', '1']);
  });

  test('that turns out to be poison for the newer version lets the rest go on', async () => {
    const before = await start(old);
    await publish(event('k', 'new'), event('k', '1'));
    await letters(before, 2);
    await before.running.close();
    const after = await start((text, one) => {
      if (text === 'new') throw new PoisonEventError(one, 'cannot be');
    });
    await waitFor('the rest', () => after.handled.includes('1'));
    expect(await letters(after, 1)).toMatchObject([{ kind: 'poison', error: 'PoisonEventError: cannot be' }]);
  });

  test('waits without limit; an operator may discard it, and the events behind it go on', async () => {
    const member = await start(old);
    await publish(event('k', 'new'), event('k', '1'));
    const [first, second] = await letters(member, 2);
    const [head, behind] = first?.kind === 'behind' ? [second, first] : [first, second];
    expect(head?.expiresAt).toBeUndefined();
    await expect(member.deadLetters.replay(behind?._id ?? '', 'now', asked())).rejects.toMatchObject({
      message: expect.stringContaining('It waits behind'),
    });
    await member.deadLetters.discard(head?._id ?? '', 'nobody needs it', asked());
    const ended = await member.deadLetters.get(head?._id ?? '');
    expect(ended?.expiresAt?.getTime()).toBe(nowMs + keepMs);
    await waitFor('what was behind', () => member.handled.includes('1'));
  });
});

/** A store whose queries of several documents count what they return. */
function countingStore() {
  const store = stores.database('billing');
  const counted = {
    read: 0,
    store: {
      collection<T extends Document>(name: string): StoreCollection<T> {
        const collection = bounded(store.collection<T>(name));
        return {
          ...collection,
          find(...query) {
            const cursor = collection.find(...query);
            return {
              ...cursor,
              async *[Symbol.asyncIterator]() {
                for await (const one of cursor) {
                  counted.read += 1;
                  yield one;
                }
              },
              async toArray() {
                const found = await cursor.toArray();
                counted.read += found.length;
                return found;
              },
            };
          },
        };
      },
    } as Store,
  };
  return counted;
}

test('a long line is not read as a whole, and only a line that has changed is read again', async () => {
  const first = await start(old);
  const behind = Array.from({ length: 1000 }, (_, n) => event('k', `${n}`));
  await publish(event('k', 'new'), ...behind, event('l', 'new'));
  await waitFor(
    'the lines',
    async () => (await first.deadLetters.countOpen(['newer-version', 'behind'])) === 1002,
  );
  await first.running.close();
  const counted = countingStore();
  let tries = 0;
  const understands = (text: string, one: LogEvent) => {
    if (text.startsWith('new')) tries += 1;
    old(text, one);
  };
  const second = await start(understands, group, 3_600_000, counted.store);
  await waitFor('a try of each line', () => tries === 2);
  await publish(event('m', '1'));
  await waitFor('an event of another key', () => second.handled.includes('1'));
  expect(counted.read).toBeLessThan(500);
  counted.read = 0;
  await publish(event('m', 'new'), event('m', '2'), event('n', '3'));
  await waitFor('the next event', () => second.handled.includes('3'));
  expect(counted.read).toBe(0);
  expect(second.handled).toEqual(['1', '3']);
});

test('after the log was lost, an event in the place of an old dead letter is set aside as well, behind it', async () => {
  const store = stores.database('billing');
  const member = await start(old);
  await publish(event('k', 'new 1'));
  const id = await idOf(member);
  await member.running.close();
  expect(await leaveLostLog(store, true)).toBe(1);
  expect(await idOf(member)).toBe(id);
  expect(await leaveLostLog(store, false)).toBe(1);
  expect(await leaveLostLog(store, false)).toBe(0);
  // What a new log has in that place.
  const [, place = ''] = /\/(\d+:\d+)\//.exec(id) ?? [];
  const again = {
    topic,
    key: 'k',
    value: Buffer.from('new 2'),
    headers: {},
    position: place,
    timestampMs: 1,
  };
  const kept = new LetterStore(store, { now: () => nowMs }, keepMs);
  await kept.setAside([again], group, { kind: 'behind', error: 'it waits' });
  const later = await start(upgraded);
  await waitFor('both, in order', () => later.handled.length === 2);
  expect(later.handled).toEqual(['new 1', 'new 2']);
});
