import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describeOnStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const afterMs = 2000;
const failing = 'notify-destination-failing';
const recovered = 'notify-destination-recovered';
const dead = 'notify-deliveries-dead';

// In production the times are an hour and a minute, which tests of the configuration verify.
describeOnStack('notices', () => {
  let own: OwnPlatform;
  let notices: Receiver;
  const receivers: Receiver[] = [];
  beforeAll(async () => {
    own = await openOwnPlatform({
      env: {
        NOTIFIER_NOTICE_AFTER_MS: String(afterMs),
        NOTIFIER_NOTICE_EVERY_MS: '1000',
        NOTIFIER_BACKOFF_FIRST_MS: '50',
        NOTIFIER_BACKOFF_MAX_MS: '300',
        NOTIFIER_PROBE_MAX_MS: '200',
      },
    });
  }, 180_000);
  afterAll(async () => {
    await own?.close();
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });

  const headsets: Headset[] = [];
  afterEach(async () => {
    await Promise.all(headsets.splice(0).map((headset) => headset.close()));
  });
  async function online(): Promise<void> {
    const headset = own.headset();
    headsets.push(headset);
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
  }
  const noticesOf = (type: string, receiver = notices) =>
    receiver.arrivals.filter(({ body }) => body.operationId === type);
  const feed = async () => {
    const { body } = await own.call(200, 'GET', `/events?limit=1000&types=${failing},${recovered},${dead}`);
    return body.events as { webhookId: string; type: string; destination: string; body: string }[];
  };
  const settings = '/extension_settings';

  // proves ext/notices/setting
  it('the setting is validated, signed and tested like the specified settings, which do not include it', async () => {
    expect((await own.call(200, 'GET', settings)).body).toEqual({ noticeEvent: null });
    for (const noticeEvent of ['', 'ftp://a.test/', 'http://10.1.2.3/', 'https://169.254.169.254/x', 5])
      await own.call(400, 'PATCH', settings, { noticeEvent });
    expect((await own.call(200, 'GET', settings)).body).toEqual({ noticeEvent: null });
    notices = await startReceiver(() => 204);
    receivers.push(notices);
    const set = await own.call(200, 'PATCH', settings, { noticeEvent: notices.url });
    expect(set.body).toEqual({ noticeEvent: notices.url });
    expect((await own.call(200, 'PATCH', settings, {})).body).toEqual({ noticeEvent: notices.url });
    expect((await own.call(200, 'GET', '')).body).not.toHaveProperty('noticeEvent');
    const test = { type: failing, destination: 'noticeEvent' };
    expect((await own.call(200, 'POST', '/test_callbacks', test)).body).toMatchObject({ statusCode: 204 });
    expect(noticesOf(failing)[0]?.headers).toMatchObject({ 'x-tlpf-test': 'true' });
    const { eventTypes } = (await own.call(200, 'GET', '/event_types')).body;
    for (const type of [failing, recovered, dead])
      expect(eventTypes).toContainEqual(expect.objectContaining({ type, destination: 'noticeEvent' }));
  });

  // proves ext/notices/failing, ext/notices/feed
  it('a long outage of a server causes one notice, and one for its recovery, by callback and in the feed', async () => {
    let open = false;
    const server = await own.receiver(() => (open ? 204 : 503));
    await online();
    await own.command();
    const [test] = noticesOf(failing);
    const notice = await waitFor('the notice', () => noticesOf(failing).find((one) => one !== test));
    expect(notice.body).toMatchObject({ destination: 'deviceEvent', reason: 'answered' });
    expect(notice.body.waiting).toBeGreaterThan(0);
    expect(notice.body.timestamp - notice.body.sinceTimestamp).toBeGreaterThanOrEqual(afterMs - 100);
    open = true;
    const end = await waitFor('its end', () => noticesOf(recovered)[0]);
    expect(end.body.sinceTimestamp).toBe(notice.body.sinceTimestamp);
    await waitFor('the waiting callback', () =>
      server.arrivals.some(({ body }) => body.notificationType === 'processed'),
    );
    const events = await feed();
    expect(events.map(({ type }) => type)).toEqual([failing, recovered]);
    expect(events.map(({ webhookId }) => webhookId)).toEqual(
      [notice, end].map(({ headers }) => headers['webhook-id']),
    );
    expect(events.map(({ body }) => body)).toEqual([notice, end].map(({ bytes }) => bytes.toString()));
  }, 90_000);

  // proves ext/notices/dead
  it('dead callbacks are reported with their number, and can be sent again with the values of the notice', async () => {
    let open = false;
    const server = await own.receiver(() => (open ? 204 : 410));
    await online();
    for (let i = 0; i < 3; i++) await own.command();
    const counted = () => noticesOf(dead).reduce((sum, { body }) => sum + body.count, 0);
    const list = async (state: string) =>
      (await own.call(200, 'GET', `/deliveries?state=${state}&limit=1000`)).body.deliveries as object[];
    // The callbacks of the commands and of the headset's own reports.
    const gone = await waitFor('all of them', async () => {
      const ended = await list('dead');
      return (await list('pending')).length === 0 && ended.length >= 6 && counted() === ended.length && ended;
    });
    const first = noticesOf(dead)[0]?.body;
    expect(gone.map((one) => (one as { webhookId: string }).webhookId)).toEqual(
      expect.arrayContaining([first.firstWebhookId, first.lastWebhookId]),
    );
    open = true;
    const before = server.arrivals.length;
    const { body } = await own.call(200, 'POST', '/deliveries/recover', first.recover);
    expect(body.count).toBe(gone.length);
    await waitFor('all of them', () => server.arrivals.length === before + gone.length);
    expect((await feed()).filter(({ type }) => type === dead)).toHaveLength(noticesOf(dead).length);
  }, 90_000);

  // proves ext/notices/itself
  // protects against callbacks/notice-loop
  it('without an endpoint, and about the notices’ endpoint itself, notices are in the feed only', async () => {
    const broken = await startReceiver(() => 503);
    receivers.push(broken);
    await own.call(200, 'PATCH', settings, { noticeEvent: broken.url });
    await own.receiver(() => 410);
    const before = (await feed()).length;
    await online();
    await own.command();
    const about = await waitFor('the notice about it', async () =>
      (await feed()).slice(before).find(({ type }) => type === failing),
    );
    expect(JSON.parse(about.body)).toMatchObject({ destination: 'noticeEvent' });
    const unsent = (await own.call(200, 'GET', '/deliveries?state=unsent')).body.deliveries;
    expect(unsent.map(({ webhookId }: { webhookId: string }) => webhookId)).toEqual([about.webhookId]);
    expect(noticesOf(failing, broken)).toEqual([]);
    expect(noticesOf(dead, broken).length).toBeGreaterThan(0);
    await own.call(409, 'POST', `/deliveries/${about.webhookId}/redeliver`, { force: true });
    expect((await own.call(200, 'PATCH', settings, { noticeEvent: null })).body).toEqual({
      noticeEvent: null,
    });
  }, 90_000);
});
