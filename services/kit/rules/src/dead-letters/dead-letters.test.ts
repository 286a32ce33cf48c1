import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from '@headset-cloud/embedded/store.ts';
import { CutOff, cutOffAt } from '@headset-cloud/embedded/testing/bed.ts';
import {
  type EventLog,
  type LogEvent,
  NewerVersionError,
  PoisonEventError,
  type RunningSubscription,
} from '@headset-cloud/eventlog/types.ts';
import type { Crash } from '@headset-cloud/process/testing/crash-points.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { recordOf } from '../audit/record.ts';
import { type DeadLetters, withDeadLetters } from './log.ts';
import { moveDeadLettersOfLostLog } from './lost-log.ts';
import { DeadLetterStore } from './store.ts';

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
/** The write at which the process dies. */
let world: Crash;

/** A process of the service: its log, its dead letters, and the events that its handler got. */
interface Member {
  readonly log: EventLog;
  readonly deadLetters: DeadLetters;
  readonly handled: string[];
  running: RunningSubscription;
}

const claimed = 'after store billing.deadLetters.claimedUntilMs';
const beforeEnd = 'before store billing.deadLetters.steps';
const keepMs = 40 * 86_400_000;

/** `understands`: throws for an event that this version cannot handle. */
async function start(
  understands: (text: string, event: LogEvent) => void,
  name = group,
  replayEveryMs = 20,
  store: Store = stores.database('billing'),
): Promise<Member> {
  const { log, deadLetters } = withDeadLetters(base, {
    ...cutOffAt('billing', { store }, () => world),
    logger,
    clock: { now: () => nowMs },
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
  if (text.startsWith('new')) throw new NewerVersionError('kind 9 is not known');
  if (text.startsWith('bad')) throw new PoisonEventError(one, 'not usage');
};
const upgraded = (text: string, one: LogEvent) => {
  if (text.startsWith('bad')) throw new PoisonEventError(one, 'not usage');
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dead-letters-'));
  nowMs = 1_000_000;
  world = { cutAt: undefined };
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
/** The audit record of an operator's call. */
const asked = () => recordOf(nowMs, { target: 'a dead letter' });
const openDeadLetters = async (member: Member, count: number) => {
  await waitFor(
    `${count} dead letters`,
    async () => (await member.deadLetters.list(100, false)).length === count,
  );
  return member.deadLetters.list(100, false);
};
const idOf = async (member: Member) => (await openDeadLetters(member, 1))[0]?._id ?? '';

describe('poison', () => {
  let readable = false;
  const fixed = (text: string, one: LogEvent) => {
    if (!readable) old(text, one);
  };
  beforeEach(() => {
    readable = false;
  });

  // protects against stores/poison
  test('becomes a dead letter with its reason, and later events of its key continue', async () => {
    const member = await start(old);
    await publish(event('k', '1'), event('k', 'bad'), event('k', '2'));
    await waitFor('the rest', () => member.handled.includes('2'));
    expect(await openDeadLetters(member, 1)).toMatchObject([
      {
        _id: `${topic}/0:2/${group}`,
        kind: 'poison',
        state: 'waiting',
        error: 'PoisonEventError: not usage',
      },
    ]);
  });

  test('a replay delivers it once to the group of its dead letter and to no other group, and keeps the reason', async () => {
    const [member, other] = [await start(fixed), await start(fixed, 'another')];
    await publish(event('k', 'bad'));
    await openDeadLetters(member, 2);
    readable = true;
    const id = `${topic}/0:1/${group}`;
    expect(await member.deadLetters.replay(id, 'the parser was fixed', asked())).toMatchObject({
      state: 'replayed',
      reason: 'the parser was fixed',
    });
    await expect(member.deadLetters.replay(id, 'once more', asked())).rejects.toMatchObject({
      code: 'conflict',
      message: 'It was replayed before (the parser was fixed).',
    });
    await expect(member.deadLetters.discard(id, 'too late', asked())).rejects.toMatchObject({
      code: 'conflict',
    });
    expect([member.handled, other.handled]).toEqual([['bad'], []]);
  });

  test('of two simultaneous replays in two processes, one takes effect', async () => {
    const members = [await start(fixed), await start(fixed)];
    await publish(event('k', 'bad'));
    const id = await idOf(members[0] as Member);
    readable = true;
    const outcomes = await Promise.allSettled(
      members.map((one) => one.deadLetters.replay(id, 'fixed', asked())),
    );
    expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(members.flatMap((one) => one.handled)).toEqual(['bad']);
  });

  test('a replay that fails again keeps the dead letter, with the new reason', async () => {
    const member = await start(old);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    await expect(member.deadLetters.replay(id, 'trying', asked())).rejects.toMatchObject({
      code: 'conflict',
      message: 'The event could not be handled again: PoisonEventError: not usage',
    });
    const deadLetter = await member.deadLetters.get(id);
    expect(deadLetter).toMatchObject({ state: 'waiting', kind: 'poison' });
    expect(deadLetter?.steps.map((step) => step.what)).toEqual([
      'set aside: PoisonEventError: not usage',
      'failed again: PoisonEventError: not usage',
    ]);
  });

  test.each([claimed, beforeEnd])(
    'if the process dies %s of a replay, the service completes the replay after its claim has expired',
    async (step) => {
      const member = await start(fixed);
      await publish(event('k', 'bad'));
      const id = await idOf(member);
      readable = true;
      world.cutAt = step;
      await expect(member.deadLetters.replay(id, 'fixed', asked())).rejects.toThrow(CutOff);
      await expect(member.deadLetters.replay(id, 'another', asked())).rejects.toMatchObject({
        message: 'It is being replayed just now.',
      });
      nowMs += 61_000;
      await waitFor('its end', async () => (await member.deadLetters.get(id))?.state === 'replayed');
      // Killed after the handler, before its outcome is stored: the event is handled again, as after any
      // crash.
      expect(member.handled).toEqual(step === beforeEnd ? ['bad', 'bad'] : ['bad']);
      expect((await member.deadLetters.get(id))?.reason).toBe('fixed');
    },
  );

  test('a claim by a crashed process whose clock was an hour ahead does not last an hour', async () => {
    const member = await start(fixed);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    nowMs += 3_600_000;
    world.cutAt = claimed;
    await expect(member.deadLetters.replay(id, 'fixed', asked())).rejects.toThrow(CutOff);
    nowMs -= 3_600_000;
    await waitFor('its end', async () => (await member.deadLetters.get(id))?.state === 'replayed');
    expect(member.handled).toEqual(['bad']);
  });

  test('an operator can discard a dead letter that a process claimed with its clock an hour ahead', async () => {
    const member = await start(fixed, group, 3_600_000);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    nowMs += 3_600_000;
    world.cutAt = claimed;
    await expect(member.deadLetters.replay(id, 'fixed', asked())).rejects.toThrow(CutOff);
    nowMs -= 3_600_000;
    expect(await member.deadLetters.discard(id, 'a test event', asked())).toMatchObject({
      state: 'discarded',
    });
  });

  test('a member whose clock is two minutes behind respects the claims of the others', async () => {
    const member = await start(fixed);
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    world.cutAt = claimed;
    await expect(member.deadLetters.replay(id, 'fixed', asked())).rejects.toThrow(CutOff);
    nowMs -= 120_000;
    await expect(member.deadLetters.discard(id, 'too early', asked())).rejects.toMatchObject({
      message: 'It is being replayed just now.',
    });
  });

  test('a transient failure of a replay is reported, and the operator may replay again', async () => {
    let away = true;
    const member = await start((text, one) => {
      if (!readable) old(text, one);
      else if (away) throw new DomainError('unavailable', 'The database is unavailable.');
    });
    await publish(event('k', 'bad'));
    const id = await idOf(member);
    readable = true;
    await expect(member.deadLetters.replay(id, 'fixed', asked())).rejects.toMatchObject({
      code: 'unavailable',
    });
    away = false;
    expect(await member.deadLetters.replay(id, 'fixed', asked())).toMatchObject({ state: 'replayed' });
  });

  test('a discarded dead letter ends with its reason; its event is not delivered', async () => {
    const member = await start(fixed);
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

test('an event of a newer version waits in its partition, with everything after it, until that version runs', async () => {
  const older = await start(old);
  await publish(event('k', '1'));
  await waitFor('the first event', () => older.handled.includes('1'));
  let tries = 0;
  await older.running.close();
  const still = await start((text, one) => {
    if (text === 'new') tries += 1;
    old(text, one);
  });
  await publish(event('k', 'new'), event('j', '2'));
  await waitFor('a second try', () => tries > 1);
  expect(still.handled).toEqual([]);
  expect(await still.deadLetters.list(10, true)).toEqual([]);
  await still.running.close();
  const newer = await start(upgraded);
  await waitFor('all of it', () => newer.handled.length === 2);
  expect(newer.handled).toEqual(['new', '2']);
});

test('a replay is rejected if the event needs a newer version, and the event waits again', async () => {
  let version = 'bad';
  const member = await start((_, one) => {
    if (version === 'bad') throw new PoisonEventError(one, 'not usage');
    throw new NewerVersionError('kind 9 is not known');
  });
  await publish(event('k', '1'));
  const id = await idOf(member);
  version = 'older';
  await expect(member.deadLetters.replay(id, 'trying', asked())).rejects.toMatchObject({
    message: 'The event could not be handled again: NewerVersionError: kind 9 is not known',
  });
  expect(await member.deadLetters.get(id)).toMatchObject({ state: 'waiting', open: true });
});

test('after the log was lost, an event at the same offset as an old dead letter becomes a dead letter as well', async () => {
  const store = stores.database('billing');
  const member = await start(old);
  await publish(event('k', 'bad 1'));
  const id = await idOf(member);
  await member.running.close();
  expect(await moveDeadLettersOfLostLog(store, true)).toBe(1);
  expect(await idOf(member)).toBe(id);
  expect(await moveDeadLettersOfLostLog(store, false)).toBe(1);
  expect(await moveDeadLettersOfLostLog(store, false)).toBe(0);
  // An event of the new log at the same offset.
  const [, position = ''] = /\/(\d+:\d+)\//.exec(id) ?? [];
  const again = { topic, key: 'k', value: Buffer.from('bad 2'), headers: {}, position, timestampMs: 1 };
  const kept = new DeadLetterStore(store, { now: () => nowMs }, keepMs);
  await kept.add(again, group, 'not usage');
  expect(await openDeadLetters(member, 2)).toHaveLength(2);
});
