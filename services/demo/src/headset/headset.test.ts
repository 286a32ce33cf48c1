import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceId, type Instance, offer, World } from '@headset-cloud/device-link/testing/world.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { apply } from './actions.ts';
import { describe as describeHeadset, listenForControl } from './control.ts';
import { Headset, type HeadsetOptions } from './headset.ts';
import { runScript } from './script.ts';
import { Cloud } from './testing/cloud.ts';

let world: World;
let instance: Instance;
let stateDir: string;
let open: Headset[];

beforeEach(async () => {
  world = new World();
  instance = await world.start();
  stateDir = mkdtempSync(join(tmpdir(), 'headset-'));
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((headset) => headset.close()));
  await world.close();
  rmSync(stateDir, { recursive: true, force: true });
});

function headset(options: Partial<HeadsetOptions> = {}): Headset {
  const made = new Headset({
    identity: {
      deviceId,
      keyId: 'k1',
      privateKeyPem: world.privateKey(deviceId).export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
    server: `127.0.0.1:${instance.service.linkPort()}`,
    stateDir,
    backoff: { firstMs: 20, maxMs: 100 },
    ...options,
  });
  open.push(made);
  return made;
}

async function online(made: Headset): Promise<Headset> {
  made.connect();
  await waitFor('the session', () => made.sessionEpoch > 0);
  return made;
}

const deliver = (...ids: number[]) => instance.dispatch(deviceId, ...ids.map((id) => offer(id)));
const effects = () =>
  readFileSync(join(stateDir, `${deviceId}.effects.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).transactionId as number);
const results = async () =>
  (await world.reports()).flatMap(({ body }) =>
    body.case === 'report' && body.value.body.case === 'result'
      ? [[Number(body.value.body.value.transactionId), body.value.body.value.success]]
      : [],
  );
const settled = (made: Headset) =>
  waitFor(
    'everything to be acknowledged',
    () => made.journal.held.size === 0 && made.journal.reports.size === 0,
  );

describe('a headset', () => {
  it('runs several transactions once each, in order, and reports them', async () => {
    const made = await online(headset());
    await deliver(1, 2, 3);
    await waitFor('three effects', () => made.effects.count === 3);
    await settled(made);
    expect(effects()).toEqual([1, 2, 3]);
    expect(await results()).toEqual([1, 2, 3].map((id) => [id, true]));
  });

  it("adds the called app's own answer if the behaviour says so", async () => {
    const made = await online(headset({ behaviour: { appAnswer: true, appAnswerText: 'hi' } }));
    await deliver(1);
    await waitFor('the effect', () => made.effects.count === 1);
    await settled(made);
    const last = (await world.reports()).at(-1)?.body;
    expect(last?.case === 'report' && last.value.body).toMatchObject({
      case: 'appAnswer',
      value: { message: 'hi' },
    });
  });

  it('performs a transaction once although it is offered in two sessions and again after its end', async () => {
    world.onOnline = async () => ({ offers: [offer(1)] });
    const made = await online(headset());
    await settled(made);
    for (const epoch of [2, 3]) {
      made.disconnect();
      await waitFor('the next session', () => made.sessionEpoch === epoch);
      await waitFor('its result again', async () => (await results()).length === epoch);
    }
    expect(effects()).toEqual([1]);
  });

  it('corrects its clock by the time of the server', async () => {
    const made = await online(headset({ behaviour: { skewMs: -3_600_000 } }));
    expect(made.sessionEpoch).toBe(1);
  });

  it('fails a transaction of an older activation without starting it', async () => {
    world.onActivation = async () => ({ epoch: 2n, revision: 2n });
    const made = await online(headset());
    await instance.dispatch(deviceId, { ...offer(1), activationEpoch: 2n });
    await waitFor('the effect', () => made.effects.count === 1);
    await deliver(2);
    await waitFor('the result', async () => (await results()).length === 2);
    expect(await results()).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(effects()).toEqual([1]);
    await settled(made);
    await made.close();
    expect(headset().journal.activationEpoch).toBe(2);
  });

  it('never performs a dropped transaction', async () => {
    world.onAccept = async ({ transactionId }) => ({ start: transactionId !== 1n, dropReason: 'canceled' });
    const made = await online(headset());
    await deliver(1, 2);
    await waitFor('the effect', () => made.effects.count === 1);
    await settled(made);
    expect(effects()).toEqual([2]);
  });

  it('reconnects after the server has drained', async () => {
    const made = await online(headset());
    const port = instance.service.linkPort();
    await instance.service.stop();
    await waitFor('the absence', () => made.sessionEpoch === 0);
    instance = await world.start({ DEVICE_LINK_LISTEN: { host: '127.0.0.1', port } });
    await waitFor('the session', () => made.sessionEpoch === 2);
  });
});

test('messages on a stream after go_away are ignored', async () => {
  const cloud = new Cloud();
  await cloud.start();
  try {
    cloud.starts = false;
    cloud.endsStreams = false;
    const made = await cloud.online();
    cloud.offer(1, { case: 'command', value: {} });
    await waitFor('ready', () => cloud.readies.length === 1);
    const old = cloud.line();
    cloud.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING } });
    await waitFor('the next session', () => made.sessionEpoch === 2 && cloud.readies.length === 2);
    const seen = once(made, 'received');
    old({ case: 'start', value: { transactionId: 1n } });
    old({ case: 'drop', value: { transactionId: 1n } });
    cloud.send({ case: 'drop', value: { transactionId: 9n } });
    expect((await seen)[0]).toMatchObject({ body: { value: { transactionId: 9n } } });
    expect(made.journal.held.get(1)?.state).toBe('offered');
    expect(cloud.effects()).toEqual([]);
  } finally {
    await cloud.close();
  }
});

test.each([
  ['a correct clock stays correct', 0],
  ['a wrong clock is wrong by at most the delay', -3_600_000],
])('if a welcome was delayed, %s', async (_, skewMs) => {
  const cloud = new Cloud();
  await cloud.start();
  try {
    const time = createFakeTime();
    cloud.clock = time;
    cloud.welcomes = false;
    const made = cloud.headset({ behaviour: { skewMs } });
    await waitFor('the hello', () => cloud.hellos.length === 1);
    // The server read its clock when it received the hello. The connection delayed the welcome.
    const serverTimeMs = BigInt(time.now());
    await time.advance(500);
    cloud.send({ case: 'welcome', value: { sessionEpoch: 1n, serverTimeMs } });
    await waitFor('the session', () => made.sessionEpoch === 1);
    made.report({ case: 'stateChange', value: { power: 'started' } });
    await waitFor('the report', () => cloud.reports.length === 1);
    expect(Number(cloud.reports[0]?.occurredAtMs)).toBe(time.now() - (skewMs === 0 ? 0 : 500));
  } finally {
    await cloud.close();
  }
});

test('a connection that is accepted and then stays silent is replaced', async () => {
  const connections: Socket[] = [];
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    connections.push(socket);
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const made = headset({ server: `127.0.0.1:${port}`, welcomeMs: 50 });
  made.connect();
  await waitFor('new connections', () => connections.length >= 3);
  await made.close();
  for (const socket of connections) socket.destroy();
  silent.close();
});

describe('a headset that violates the protocol', () => {
  const ready = (made: Headset, transactionId: bigint) =>
    made.on('received', ({ body }) => {
      if (body.case === 'offer') made.sendRaw({ case: 'ready', value: { transactionId } });
    });
  const result = (made: Headset, transactionId: bigint) =>
    made.on('effect', () => made.report({ case: 'result', value: { transactionId, success: true } }));
  it.each<[string, (made: Headset) => unknown]>([
    ['answers offers twice', (made) => ready(made, 1n)],
    ['also answers for an unknown transaction', (made) => ready(made, 9999n)],
    ['reports results twice', (made) => result(made, 1n)],
    ['reports results of an unknown transaction', (made) => result(made, 9999n)],
  ])('still has one effect when it %s', async (_, misbehave) => {
    world.onAccept = async ({ transactionId }) => ({ start: transactionId < 1000n });
    const made = await online(headset());
    misbehave(made);
    await deliver(1);
    await waitFor('the effect', () => made.effects.count === 1);
    await settled(made);
    expect(effects()).toEqual([1]);
    expect(await results()).toContainEqual([1, true]);
  });

  it('does not answer offers if answersOffers is false', async () => {
    const made = await online(headset({ behaviour: { answersOffers: false } }));
    await deliver(1);
    await waitFor('the offer', () => made.journal.held.has(1));
    made.report({ case: 'stateChange', value: { power: 'started' } });
    await waitFor('a later report', async () => (await world.reportIds(topics.deviceReports)).length === 1);
    expect(world.accepts).toEqual([]);
  });
});

describe('the control', () => {
  it('changes behaviour, disconnects, stays away and reports, by script and over HTTP', async () => {
    const made = await online(headset());
    const headsets = new Map([[deviceId, made]]);
    const control = await listenForControl(headsets, 0);
    const post = (action: unknown) =>
      fetch(`${control.url}/actions`, { method: 'POST', body: JSON.stringify(action) });
    try {
      expect(await (await post({ action: 'set', behaviour: { effectMs: 1 } })).json()).toEqual({
        applied: 1,
      });
      expect(made.behaviour.effectMs).toBe(1);
      expect((await post({ action: 'set', behaviour: { nothing: 1 } })).status).toBe(400);
      expect((await post({ action: 'report', stateChange: { batteryPercentage: 80 } })).status).toBe(200);
      await waitFor('the report', async () => (await world.reportIds(topics.deviceReports)).length === 1);
      await runScript(headsets, [{ action: 'disconnect' }]);
      await waitFor('the next session', () => made.sessionEpoch === 2);
      apply(headsets, { action: 'away', ms: 3_600_000 });
      await waitFor('the absence', () => made.sessionEpoch === 0);
      const [state] = (await (await fetch(`${control.url}/headsets`)).json()) as unknown[];
      expect(state).toEqual(JSON.parse(JSON.stringify(describeHeadset(made))));
      apply(headsets, { action: 'away', ms: 0 });
      await waitFor('the return', () => made.sessionEpoch === 3);
    } finally {
      await control.close();
    }
  });
});
