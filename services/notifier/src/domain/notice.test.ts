import { deathsNotice, deliveryOf, failingNotice, recoveredNotice, tellsOthers } from './notice.ts';

const facts = {
  ...{
    lane: 'app/with/slashes/soraEvent',
    occasion: 'o1',
    sinceMs: 2000,
    waiting: 3,
    isSent: true,
    nowMs: 1000,
  },
};

test('notices of one outage have one order, and never a time in the future', () => {
  const [failing, recovered] = [failingNotice({ ...facts, reason: 'dns' }), recoveredNotice(facts)];
  expect(JSON.parse(failing.body)).toEqual({
    ...{ applicationId: 'app/with/slashes', timestamp: 1000, operationId: 'notify-destination-failing' },
    ...{ destination: 'soraEvent', sinceTimestamp: 1000, reason: 'dns', waiting: 3 },
    message: 'The host name cannot be resolved.',
  });
  expect([failing.id, recovered.id]).toEqual(['notice-o1-failing', 'notice-o1-recovered']);
  expect(failing.orderKey).toBe(recovered.orderKey);
  expect(failing.sequence).toBeLessThan(recovered.sequence);
});

test('a notice that is sent is due at once by every clock; one that is not has ended from its beginning', () => {
  const sent = deliveryOf(recoveredNotice(facts));
  expect(sent).toMatchObject({ destination: 'noticeEvent', status: 'pending', dueAtMs: 0, order: 'ended' });
  const unsent = deliveryOf(recoveredNotice({ ...facts, isSent: false }));
  expect(unsent).toMatchObject({ status: 'unsent', dueAtMs: 1000, nextAttemptAtMs: 0 });
});

test('deaths are told from the first to the last, with the time from which to recover and the devices that are named', () => {
  const death = (id: string, createdAtMs: number) =>
    ({ id, createdAtMs, destination: 'deviceEvent' }) as const;
  const deaths = [
    death('device-350000000000001-7', 500),
    death('device-350000000000003-7', 700),
    death('tx-123456789012345678-accepted', 300),
    death('device-350000000000002-connectivity', 900),
  ];
  const notice = deathsNotice({ applicationId: 'app', occasion: 'o1', deaths, isSent: true, nowMs: 1000 });
  expect(JSON.parse(notice.body)).toMatchObject({
    ...{ count: 4, firstWebhookId: deaths[0]?.id, lastWebhookId: deaths[3]?.id },
    recover: { since: '1970-01-01T00:00:00.300Z' },
  });
  expect(notice.names).toEqual(['350000000000001', '350000000000002']);
  expect(
    deathsNotice({ applicationId: 'a', occasion: 'o', deaths: deaths.slice(2, 3), isSent: true, nowMs: 1 })
      .names,
  ).toEqual([]);
});

test('notices that were given up are told to nobody else', () => {
  expect(tellsOthers([{ destination: 'noticeEvent' }])).toBe(false);
  expect(tellsOthers([{ destination: 'noticeEvent' }, { destination: 'soraEvent' }])).toBe(true);
});
