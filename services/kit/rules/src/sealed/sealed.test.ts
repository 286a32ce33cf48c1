import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox, keyIdOf } from '@headset-cloud/runtime/secrets.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { recordOf } from '../audit/record.ts';
import { inspectSealed } from './inspect.ts';
import { type SealedLocation, sealedFields } from './locations.ts';
import { createNotedKeys, type NotedKeyDocument, notedKeysCollection } from './noted-keys.ts';

const old = 'the old key of more than thirty-two characters';
const next = 'the next key of more than thirty-two characters';
const lost = 'a lost key of more than thirty-two characters';
const [oldId, nextId, lostId] = [keyIdOf(old), keyIdOf(next), keyIdOf(lost)];
const both = createSecretBox(next, [old]);
const logger = createLogger({ service: 'test', level: 'silent' });

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('devices', { onMongo: true });
});
afterEach(() => bed.remove());

describe('values are re-encrypted with the current key', () => {
  interface Thing {
    _id: string;
    secret?: string;
    parts?: { secret: string }[];
  }
  let things: StoreCollection<Thing>;
  let location: SealedLocation;
  beforeEach(() => {
    things = bed.store.collection<Thing>('things');
    location = sealedFields(things, {
      name: 'things',
      projection: { secret: 1, parts: 1 },
      fields: ({ _id, secret, parts = [] }) => [
        ...(secret === undefined ? [] : [{ path: 'secret', text: secret, purpose: _id }]),
        ...parts.map((part, n) => ({ path: `parts.${n}.secret`, text: part.secret, purpose: _id })),
      ],
    });
  });
  const sealedBy = (secret: string, text: string, purpose: string) =>
    Buffer.from(createSecretBox(secret).seal(text, purpose)).toString('base64');
  const opened = async (id: string) => {
    const { secret, parts = [] } = (await things.findOne({ _id: id })) as Thing;
    return [secret, ...parts.map((part) => part.secret)].map((text) =>
      createSecretBox(next).open(Buffer.from(text ?? '', 'base64'), id),
    );
  };

  test('page by page, so that the next run continues an interrupted one', async () => {
    for (let n = 0; n < 5; n += 1) {
      const _id = `thing-${n}`;
      await things.insertOne({
        _id,
        secret: sealedBy(old, `text ${n}`, _id),
        parts: [{ secret: sealedBy(old, `part ${n}`, _id) }],
      });
    }
    await things.insertOne({ _id: 'without' });
    const first = await inspectSealed(location, both, { reseal: async () => {}, limit: 2 });
    expect(first).toEqual({
      ...{ next: 'thing-1', keys: new Map([[nextId, 4]]), moved: 4, changed: 0, unopened: [] },
    });
    // The run was interrupted; meanwhile both keys open all values.
    expect((await inspectSealed(location, both, {})).keys).toEqual(
      new Map([
        [nextId, 4],
        [oldId, 6],
      ]),
    );
    expect(await inspectSealed(location, both, { after: 'thing-1', limit: 2 })).toMatchObject({
      ...{ next: 'thing-3', keys: new Map([[oldId, 4]]) },
    });
    const again = await inspectSealed(location, both, { reseal: async () => {} });
    expect(again).toMatchObject({ moved: 6, changed: 0 });
    expect(await inspectSealed(location, both, { reseal: async () => {} })).toMatchObject({
      ...{ keys: new Map([[nextId, 10]]), moved: 0 },
    });
    for (let n = 0; n < 5; n += 1) expect(await opened(`thing-${n}`)).toEqual([`text ${n}`, `part ${n}`]);
  });

  test('without overwriting a value that changed meanwhile', async () => {
    await things.insertOne({ _id: 'a', secret: sealedBy(old, 'before', 'a') });
    const read = await location.page('', 10);
    await things.updateOne({ _id: 'a' }, { $set: { secret: sealedBy(old, 'after', 'a') } });
    const stale: SealedLocation = { name: 'things', page: async () => read };
    expect(await inspectSealed(stale, both, { reseal: async () => {} })).toMatchObject({
      moved: 0,
      changed: 1,
    });
    expect(await inspectSealed(location, both, { reseal: async () => {} })).toMatchObject({
      moved: 1,
      changed: 0,
    });
    expect(await opened('a')).toEqual(['after']);
  });

  test('only if the audit record can be stored', async () => {
    await things.insertOne({ _id: 'a', secret: sealedBy(old, 'text', 'a') });
    const reseal = async () => Promise.reject(new Error('the database is full'));
    await expect(inspectSealed(location, both, { reseal })).rejects.toThrow('the database is full');
    expect((await inspectSealed(location, both, {})).keys).toEqual(new Map([[oldId, 1]]));
  });

  test('with a report about a value that no key decrypts, and then the rest', async () => {
    const named = createSecretBox(lost, [old]).seal('text', 'b');
    await things.insertOne({ _id: 'a', secret: sealedBy(lost, 'text', 'a') });
    await things.insertOne({ _id: 'b', secret: Buffer.from(named).toString('base64') });
    await things.insertOne({ _id: 'c', secret: sealedBy(old, 'text', 'c') });
    expect(await inspectSealed(location, both, { reseal: async () => {} })).toEqual({
      ...{ keys: new Map([[nextId, 1]]), moved: 1, changed: 0 },
      unopened: [
        { of: 'a', key: '' },
        { of: 'b', key: lostId },
      ],
    });
    expect(await opened('c')).toEqual(['text']);
  });
});

describe('a start without a needed key names the key', () => {
  const keysOf = (secret: string, ...others: string[]) =>
    createNotedKeys({ ...{ store: bed.store, logger }, secrets: createSecretBox(secret, others) });

  test('and does not note the configured key, which may be the wrong one', async () => {
    const [right, wrong] = [keysOf(old), keysOf(next)];
    await right.check();
    await expect(wrong.check()).rejects.toMatchObject({
      code: 'unavailable',
      message: `values are sealed by a key that is not configured: key ${oldId} is neither SECRET_KEY nor in SECRET_KEY_OTHERS; it belongs in one of the two until \`ctl secrets reseal\` has moved everything to another key`,
    });
    expect(await right.list()).toEqual([oldId]);
    await right.check();
  });

  test('until no value is encrypted with it', async () => {
    const [before, after] = [keysOf(next, old), keysOf(next)];
    await keysOf(old).check();
    await before.check();
    expect(await before.list()).toEqual([oldId, nextId].sort());
    await expect(after.check()).rejects.toThrow(oldId);
    expect(await before.forget(oldId, recordOf(1, {}))).toBe(true);
    expect(await before.forget(oldId, recordOf(2, {}))).toBe(false);
    await after.check();
    expect(await after.list()).toEqual([nextId]);
  });

  test('a forgotten key that is used again is needed again', async () => {
    await keysOf(old).check();
    await keysOf(next, old).forget(oldId, recordOf(1, {}));
    await keysOf(old).check();
    await expect(keysOf(next).check()).rejects.toThrow(oldId);
    // The audit record that is pending since the key was forgotten is not lost.
    const noted = bed.store.collection<NotedKeyDocument>(notedKeysCollection);
    expect((await noted.findOne({ _id: oldId }))?.audit).toHaveLength(1);
  });
});
