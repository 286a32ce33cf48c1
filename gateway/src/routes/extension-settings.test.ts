import { UpdateSettingsRequestSchema } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { expect, test } from '@jest/globals';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = '/v1/applications/app-1/extension_settings';
const noticeEvent = 'https://b.test/notices';
const asked = () => suite.asked('updateSettings', UpdateSettingsRequestSchema);

// proves ext/notices/setting
test('a setting that is not set is null, and no specified setting is returned', async () => {
  expect(JSON.parse((await suite.send('GET', path)).text)).toEqual({ noticeEvent: null });
  suite.fakes.answers.getSettings = async () => ({
    settings: { noticeEvent, deviceEvent: 'https://a.test/', authenticationKey: 'key' },
  });
  expect(JSON.parse((await suite.send('GET', path)).text)).toEqual({ noticeEvent });
});

test('PATCH sets given fields, removes null fields, keeps missing fields', async () => {
  const set = await suite.send('PATCH', path, { noticeEvent });
  expect([set.status, JSON.parse(set.text)]).toEqual([200, { noticeEvent }]);
  expect(asked()).toMatchObject({ caller: { applicationId: 'app-1' }, set: { noticeEvent }, remove: [] });
  suite.fakes.seen.length = 0;
  const removed = await suite.send('PATCH', path, { noticeEvent: null });
  expect([removed.status, JSON.parse(removed.text)]).toEqual([200, { noticeEvent: null }]);
  expect(asked()?.remove).toEqual(['noticeEvent']);
  suite.fakes.seen.length = 0;
  expect((await suite.send('PATCH', path, {})).status).toBe(200);
  expect([asked()?.set?.noticeEvent, asked()?.remove]).toEqual([undefined, []]);
});

// protects against callbacks/scheme, rest/mass-assignment
test.each([
  [{ noticeEvent: '' }, '/noticeEvent must not be empty.'],
  [{ noticeEvent: 'ftp://a.test/' }, '/noticeEvent must be an http or https URL.'],
  [{ noticeEvent: 'https://a.test/\r\nX: y' }, '/noticeEvent must be an http or https URL.'],
  [{ noticeEvent: 1 }, '/noticeEvent must be a string or null.'],
  [{ deviceEvent: 'https://a.test/' }, '/deviceEvent is not a known field.'],
  [{ authenticationKey: 'x' }, '/authenticationKey is not a known field.'],
])('%j is 400 with the reason', async (body, detail) => {
  await suite.refused('PATCH', path, body, detail as string);
});

test('the specified settings do not contain it', async () => {
  await suite.refused(
    'PATCH',
    '/v1/applications/app-1',
    { noticeEvent },
    '/noticeEvent is not a known field.',
  );
  suite.fakes.answers.getSettings = async () => ({ settings: { noticeEvent } });
  expect((await suite.send('GET', '/v1/applications/app-1')).text).not.toContain('noticeEvent');
});

test('an error of devices is returned with the field; an older devices service that ignores the setting is not a success', async () => {
  suite.fakes.answers.updateSettings = async () => {
    throw new DomainError(
      'invalid_body',
      '/noticeEvent must be on a public address; nothing is sent to any other.',
    );
  };
  const refused = await suite.send('PATCH', path, { noticeEvent: 'https://10.0.0.1/' });
  expect([refused.status, refused.headers['x-error-detail']]).toEqual([
    400,
    '/noticeEvent must be on a public address; nothing is sent to any other.',
  ]);
  suite.fakes.answers.updateSettings = async () => ({ settings: {} });
  const old = await suite.send('PATCH', path, { noticeEvent });
  expect([old.status, old.headers['retry-after']]).toEqual([503, '5']);
});
