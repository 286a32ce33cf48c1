import { timeLeft, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { createOwnership } from './ownership.ts';

/** Counts the lookups for applications that are not known to belong to the client. */
function world(refuse: () => boolean = () => false) {
  const counts = { admitted: 0, rejected: 0, ended: 0 };
  const at = { ms: 0 };
  const answer = { error: undefined as DomainError | undefined };
  const authorize = async () => {
    if (answer.error) throw answer.error;
    return { limits: { callsPerSecond: 1 } };
  };
  const ownership = createOwnership(
    { authorizeApplication: authorize, authorizeDeveloper: authorize } as never,
    { now: () => at.ms },
    {
      admitLookup: () => {
        if (refuse()) throw new DomainError('too_many_requests', 'Too many.');
        counts.admitted += 1;
        return { rejected: () => void counts.rejected++, end: () => void counts.ended++ };
      },
    },
  );
  return { ownership, counts, at, answer };
}

const forbidden = new DomainError('application_forbidden', 'No such application.');

test('a client that owned it a moment ago is authorized; a client that lost it is not', async () => {
  const { ownership, counts, at, answer } = world();
  await ownership('client', 'app');
  at.ms = 6000;
  await ownership('client', 'app');
  expect(counts).toEqual({ admitted: 1, rejected: 0, ended: 1 });
  at.ms = 12_000;
  answer.error = forbidden;
  await expect(ownership('client', 'app')).rejects.toThrow('No such');
  await expect(ownership('client', 'app')).rejects.toThrow('No such');
  expect(counts).toEqual({ admitted: 2, rejected: 1, ended: 2 });
});

test('a client without a developer is unauthorized; an unavailable service makes no client unauthorized', async () => {
  const { ownership, counts, answer } = world();
  answer.error = new DomainError('developer_not_registered', 'Not registered.');
  await expect(ownership('client', undefined)).rejects.toThrow('Not registered');
  answer.error = new DomainError('unavailable', 'away');
  await expect(ownership('client', 'app')).rejects.toThrow('away');
  expect(counts).toEqual({ admitted: 2, rejected: 1, ended: 2 });
});

test('a lookup that was rejected because of the client’s limit is made when the client retries', async () => {
  let full = true;
  const { ownership, counts } = world(() => full);
  const both = [ownership('client', 'app'), ownership('client', 'app')];
  for (const one of both) await expect(one).rejects.toThrow('Too many');
  full = false;
  expect(await ownership('client', 'app')).toEqual({ callsPerSecond: 1 });
  expect(counts).toEqual({ admitted: 1, rejected: 0, ended: 1 });
});

describe('callers that share one lookup have their own deadlines', () => {
  /** A service whose answers the test controls, with the deadline of each lookup. */
  function slowWorld() {
    const time = createFakeTime();
    const lookups: (PromiseWithResolvers<{ limits: object }> & { leftMs: number | undefined })[] = [];
    const authorize = () => {
      const lookup = { ...Promise.withResolvers<{ limits: object }>(), leftMs: timeLeft() };
      lookups.push(lookup);
      return lookup.promise;
    };
    const ownership = createOwnership(
      { authorizeApplication: authorize, authorizeDeveloper: authorize } as never,
      time,
      { admitLookup: () => ({ rejected() {}, end() {} }) },
    );
    const call = (ms: number) => withDeadline(ms, () => ownership('client', 'app'), time);
    return { time, lookups, call };
  }
  const late = { code: 'deadline_exceeded' };

  test('the lookup continues after the first caller’s deadline, for the others', async () => {
    const { time, lookups, call } = slowWorld();
    const first = expect(call(100)).rejects.toMatchObject(late);
    const second = call(1000);
    await time.advance(100);
    await first;
    lookups[0]?.resolve({ limits: { callsPerSecond: 1 } });
    expect(await second).toEqual({ callsPerSecond: 1 });
    expect(lookups.map((one) => one.leftMs)).toEqual([undefined]);
  });

  test('a lookup that took too long is repeated for a later caller', async () => {
    const { time, lookups, call } = slowWorld();
    const first = expect(call(1000)).rejects.toMatchObject(late);
    await time.advance(900);
    const others = [call(1000), call(1000)];
    lookups[0]?.reject(new DomainError('deadline_exceeded', 'late'));
    await first;
    await time.advance(0);
    expect(lookups).toHaveLength(2);
    lookups[1]?.resolve({ limits: {} });
    expect(await Promise.all(others)).toEqual([{}, {}]);
  });

  test('an unavailable service gets one lookup for all callers', async () => {
    const { lookups, call } = slowWorld();
    const both = [call(1000), call(1000)].map((one) =>
      expect(one).rejects.toMatchObject({ code: 'unavailable' }),
    );
    lookups[0]?.reject(new DomainError('unavailable', 'away'));
    await Promise.all(both);
    expect(lookups).toHaveLength(1);
  });
});
