import {
  type Dead,
  type DeadGroup,
  deadNotice,
  deliveryOf,
  failingNotice,
  recoveredNotice,
  withDead,
} from './notice.ts';

const facts = {
  ...{ lane: 'app/with/slashes/soraEvent', sinceMs: 2000, waiting: 3, isSent: true, nowMs: 1000 },
};

test('notices of one outage have one order, stable ids, and never a time in the future', () => {
  const [failing, recovered] = [failingNotice({ ...facts, reason: 'dns' }), recoveredNotice(facts)];
  expect(JSON.parse(failing.body)).toEqual({
    ...{ applicationId: 'app/with/slashes', timestamp: 1000, operationId: 'notify-destination-failing' },
    ...{ destination: 'soraEvent', sinceTimestamp: 1000, reason: 'dns', waiting: 3 },
    message: 'The host name cannot be resolved.',
  });
  expect(failing.id).toMatch(/^notice-[0-9a-f]{24}-failing$/);
  expect(recovered.id).toBe(failing.id.replace('failing', 'recovered'));
  expect(failing.orderKey).toBe(recovered.orderKey);
  expect(failing.sequence).toBeLessThan(recovered.sequence);
  expect(recoveredNotice({ ...facts, nowMs: 5000, waiting: 0 }).id).toBe(recovered.id);
  expect(recoveredNotice({ ...facts, sinceMs: 2001 }).id).not.toBe(recovered.id);
});

test('a notice to be sent is due at once by every clock; a notice for the feed only has ended from its creation', () => {
  const sent = deliveryOf(recoveredNotice(facts));
  expect(sent).toMatchObject({ destination: 'noticeEvent', status: 'pending', dueAtMs: 0, order: 'ended' });
  const unsent = deliveryOf(recoveredNotice({ ...facts, isSent: false }));
  expect(unsent).toMatchObject({ status: 'unsent', dueAtMs: 1000, nextAttemptAtMs: 0 });
});

test('dead deliveries are counted, with the first and the last one, the start for a recovery and the named devices', () => {
  const groupOf = (...all: [string, number, Dead['destination']?][]) =>
    all.reduce<DeadGroup | undefined>(
      (group, [id, createdAtMs, destination = 'deviceEvent']) =>
        withDead(group, { id, createdAtMs, destination, applicationId: 'app', dueAtMs: 950 }, 900),
      undefined,
    ) as DeadGroup;
  const [first, last] = ['device-350000000000001-7', 'device-350000000000002-connectivity'];
  const group = groupOf(
    [first, 500],
    ['device-350000000000003-7', 700],
    ['tx-123456789012345678-accepted', 300],
    [last, 900],
  );
  const notice = deadNotice(group, true, 1000);
  expect(JSON.parse(notice.body)).toMatchObject({
    ...{ count: 4, firstWebhookId: first, lastWebhookId: last },
    recover: { since: '1970-01-01T00:00:00.300Z' },
  });
  expect(notice.names).toEqual(['350000000000001', '350000000000002']);
  expect(deadNotice(groupOf(['tx-123456789012345678-accepted', 300]), true, 1000).names).toEqual([]);
  expect(groupOf(['notice-1', 1, 'noticeEvent']).hasCallback).toBe(false);
  expect(groupOf(['notice-1', 1, 'noticeEvent'], ['n-1', 1, 'soraEvent']).hasCallback).toBe(true);
});
