import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import {
  createIdempotency,
  type Idempotency,
  type IdempotencyDocument,
  type IdempotentCaller,
  idempotencyIndexes,
  sealedAnswers,
} from './idempotency.ts';
import { inspectSealed } from './sealed/inspect.ts';

const secrets = createSecretBox('a test secret of more than thirty-two characters');
let directory: string;
let db: EmbeddedDatabase;
let collection: StoreCollection<IdempotencyDocument>;
let idempotency: Idempotency;
let nowMs: number;
let drawn: number;
/** How often each drawn id took effect; stands for the owning documents. */
let effects: Map<number, number>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'idempotency-'));
  db = openEmbeddedDatabase({ directory });
  collection = createEmbeddedStore(db).database('test').collection('idempotency');
  await collection.createIndexes(idempotencyIndexes);
  nowMs = Date.now();
  idempotency = createIdempotency({ collection, secrets, clock: { now: () => nowMs } });
  drawn = 0;
  effects = new Map();
});

afterEach(async () => {
  await db.close();
  rmSync(directory, { recursive: true });
});

function caller(
  body = 1,
  change: Partial<IdempotentCaller['idempotency'] & object> = {},
  clientId = 'client',
) {
  return {
    clientId,
    idempotency: { key: 'k', method: 'POST', path: '/v1/x', bodySha256: new Uint8Array([body]), ...change },
  };
}

const draw = async () => {
  drawn += 1;
  return drawn;
};
const work = async (id: number) => {
  effects.set(id, (effects.get(id) ?? 0) + 1);
  return { id, text: `answer ${id}`, big: 9007199254740993n };
};
const answer = (id: number) => ({ id, text: `answer ${id}`, big: 9007199254740993n });

test('without a key each call is separate and nothing is stored', async () => {
  expect(await idempotency.run({ clientId: 'client' }, { draw, work })).toEqual(answer(1));
  expect(await idempotency.run(undefined, { draw, work })).toEqual(answer(2));
  expect(await collection.countDocuments()).toBe(0);
});

test('a repeat gets the stored answer and does no work', async () => {
  const first = await idempotency.run(caller(), { draw, work });
  expect(await idempotency.run(caller(), { draw, work })).toEqual(first);
  expect([...effects]).toEqual([[1, 1]]);
});

test.each([
  ['client', () => caller(1, {}, 'another')],
  ['method', () => caller(1, { method: 'PUT' })],
  ['path', () => caller(1, { path: '/v1/y' })],
  ['key', () => caller(1, { key: 'l' })],
])('another %s is another call', async (_, other) => {
  await idempotency.run(caller(), { draw, work });
  expect(await idempotency.run(other(), { draw, work })).toEqual(answer(2));
});

test('another body under the same key is rejected, with or without a stored answer', async () => {
  await idempotency.run(caller(1), { draw, work });
  await expect(idempotency.run(caller(2), { draw, work })).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  });
  const died = idempotency.run(caller(1, { key: 'died' }), {
    draw,
    work: () => Promise.reject(new Error('died')),
  });
  await expect(died).rejects.toThrow('died');
  await expect(idempotency.run(caller(2, { key: 'died' }), { draw, work })).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  });
  expect([...effects.keys()]).toEqual([1]);
});

test('twenty concurrent callers with one key cause one effect and get one answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => idempotency.run(caller(), { draw, work })),
  );
  expect(effects.size).toBe(1);
  expect(new Set(answers.map((a) => a.id))).toEqual(new Set(effects.keys()));
});

test('after a crash, the repeat uses the ids that the dead process generated', async () => {
  const dies = async (id: number) => {
    await work(id);
    throw new Error('killed after the write');
  };
  await expect(idempotency.run(caller(), { draw, work: dies })).rejects.toThrow('killed');
  expect(await idempotency.run(caller(), { draw, work })).toEqual(answer(1));
  expect([...effects]).toEqual([[1, 2]]);
});

test('after a transient error the repeat uses the same generated ids', async () => {
  const away = () => Promise.reject(new DomainError('unavailable', 'away'));
  await expect(idempotency.run(caller(), { draw, work: away })).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(await idempotency.run(caller(), { draw, work })).toEqual(answer(1));
});

test('a rejection is not stored: the key can be used again, also for another body', async () => {
  const refused = () => Promise.reject(new DomainError('activation_limit', 'no'));
  await expect(idempotency.run(caller(1), { draw, work: refused })).rejects.toMatchObject({
    code: 'activation_limit',
  });
  expect(await idempotency.run(caller(2), { draw, work })).toEqual(answer(2));
});

test('a rejection does not release the key while another run may still take effect', async () => {
  const slow = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const first = idempotency.run(caller(), {
    draw,
    work: async (id) => {
      started.resolve();
      await slow.promise;
      return work(id);
    },
  });
  await started.promise;
  const refused = () => Promise.reject(new DomainError('device_not_activated', 'no'));
  await expect(idempotency.run(caller(), { draw, work: refused })).rejects.toMatchObject({
    code: 'device_not_activated',
  });
  const third = await idempotency.run(caller(), { draw, work });
  slow.resolve();
  expect(await first).toEqual(third);
  expect([...effects.keys()]).toEqual([1]);
});

test('after a conflict the next run generates new ids', async () => {
  await expect(
    idempotency.run(caller(), { draw, work: () => Promise.reject(new Error('died')) }),
  ).rejects.toThrow('died');
  const overtaken = () => Promise.reject(new DomainError('conflict', 'overtaken'));
  await expect(idempotency.run(caller(), { draw, work: overtaken })).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await idempotency.run(caller(), { draw, work })).toEqual(answer(2));
});

test('the first stored answer replaces the answer of a slower run', async () => {
  const slow = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const first = idempotency.run(caller(), {
    draw,
    work: async (id) => {
      started.resolve();
      await slow.promise;
      return `slow ${id}`;
    },
  });
  await started.promise;
  expect(await idempotency.run(caller(), { draw, work: async (id) => `fast ${id}` })).toBe('fast 1');
  slow.resolve();
  expect(await first).toBe('fast 1');
});

test('after 24 hours the key can be used again, even if the TTL index has not deleted it yet', async () => {
  await idempotency.run(caller(), { draw, work });
  nowMs += 24 * 60 * 60 * 1000 - 1;
  expect(await idempotency.run(caller(2), { draw, work }).catch((e) => e.code)).toBe(
    'idempotency_key_reused',
  );
  nowMs += 1;
  expect(await idempotency.run(caller(2), { draw, work })).toEqual(answer(2));
});

test('generated values and answers are encrypted in the database', async () => {
  await idempotency.run(caller(), {
    draw: async () => 'drawn-secret',
    work: async (d) => `${d} answer-secret`,
  });
  const text = JSON.stringify(await collection.find({}).toArray());
  expect(text).not.toMatch(/drawn-secret|answer-secret/);
});

describe('during re-encryption with another key', () => {
  const next = createSecretBox('the next key of more than thirty-two characters', [
    'a test secret of more than thirty-two characters',
  ]);
  const move = () => inspectSealed(sealedAnswers(collection), next, { reseal: async () => {} });
  beforeEach(() => {
    idempotency = createIdempotency({ collection, secrets: next, clock: { now: () => nowMs } });
  });

  test('a running call stores its answer, and a repeat gets it', async () => {
    const old = createIdempotency({ collection, secrets, clock: { now: () => nowMs } });
    const first = await old.run(caller(), {
      draw,
      async work(id) {
        expect(await move()).toMatchObject({ moved: 1 });
        return work(id);
      },
    });
    expect(await move()).toMatchObject({ moved: 1, keys: new Map([[next.sealing, 2]]) });
    expect(await idempotency.run(caller(), { draw, work })).toEqual(first);
    expect(effects).toEqual(new Map([[1, 1]]));
  });

  test('a running call that is rejected releases its key', async () => {
    const old = createIdempotency({ collection, secrets, clock: { now: () => nowMs } });
    const refused = async () => {
      await move();
      throw new DomainError('invalid_body', 'refused');
    };
    await expect(old.run(caller(1), { draw, work: refused })).rejects.toMatchObject({ code: 'invalid_body' });
    expect(await collection.countDocuments({})).toBe(0);
  });
});
