import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import {
  type DeadLetterDocument,
  deadLetterIndexes,
  deadLettersCollection,
} from '../dead-letters/documents.ts';
import { deadLettersOfDevice } from './dead-letters.ts';
import {
  applicationMark,
  createForgetMarks,
  type ForgetMarkDocument,
  forgetMarksCollection,
} from './marks.ts';

const device = '350000000000001';
const line = { group: 'devices', topic: 'device-reports' };
const clock = { now: () => 1_800_000_000_000 };
const record = (id: string) => ({
  ...{ id, atMs: 1, action: 'devices.ForgetDevice', clientId: '', tokenId: '', operator: 'kim', address: '' },
  ...{
    requestId: '',
    route: '',
    applicationId: '',
    developerId: '',
    deviceId: device,
    target: 'R',
    fields: [],
  },
});
let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('devices', { onMongo: true });
});
afterEach(() => bed.remove());

test('deletes dead letters of the device, blocking or not; keeps others and those being replayed', async () => {
  const deadLetters = bed.store.collection<DeadLetterDocument>(deadLettersCollection);
  await deadLetters.createIndexes(deadLetterIndexes);
  const deadLetter = (_id: string, more: Partial<DeadLetterDocument> = {}): DeadLetterDocument => ({
    ...{ _id, ...line, key: device, partition: 0, offset: 1, value: Buffer.from('{}'), headers: '{}' },
    ...{ publishedAtMs: 1, kind: 'poison', state: 'waiting', open: true, blocking: false, error: 'e' },
    ...{ reason: '', setAsideAtMs: 1, claim: '', claimedUntilMs: 0, steps: [] },
    ...more,
  });
  await deadLetters.insertMany([
    deadLetter('free'),
    deadLetter('blocking', { blocking: true, kind: 'newer-version' }),
    deadLetter('ended', { open: false }),
    deadLetter('another device', { key: '350000000000002' }),
    deadLetter('another group', { group: 'billing' }),
    deadLetter('claimed', { claim: 'c', claimedUntilMs: clock.now() + 1000 }),
    deadLetter('pending', { auditAtMs: 1, audit: [record('1')] }),
  ]);
  const of = deadLettersOfDevice(bed.store, clock, line);
  expect(await of.count(device)).toBe(5);
  expect(await of.remove(device)).toEqual({ removed: 3, left: 2 });
  const left = await deadLetters.find({}, { sort: { _id: 1 } }).toArray();
  expect(left.map(({ _id }) => _id)).toEqual(['another device', 'another group', 'claimed', 'pending']);
  expect(await of.remove(device)).toEqual({ removed: 0, left: 2 });
});

test('the calls of one run store one audit record', async () => {
  const marks = createForgetMarks(bed.store, clock);
  const pending = async () => {
    const found = await bed.store
      .collection<ForgetMarkDocument>(forgetMarksCollection)
      .findOne({ _id: device });
    return found?.audit?.map(({ id }) => id);
  };
  await marks.begin(device, 'run 1', record('1'));
  await marks.begin(device, 'run 1', record('2'));
  expect(await pending()).toEqual(['1']);
  await marks.begin(device, 'run 2', record('3'));
  expect(await pending()).toEqual(['1', '3']);
});

test('marks of applications have a start time, and differ from devices’ marks', async () => {
  let nowMs = clock.now();
  const marks = createForgetMarks(bed.store, { now: () => nowMs });
  await marks.begin(device, 'run 1', record('1'));
  await marks.begin(applicationMark(device), 'run 1', record('2'));
  await marks.begin(applicationMark('app'), 'run 1', record('3'));
  nowMs += 1000;
  await marks.begin(applicationMark('app'), 'run 2', record('4'));
  expect([...(await marks.applications())].sort()).toEqual([
    [device, clock.now()],
    ['app', clock.now()],
  ]);
});
