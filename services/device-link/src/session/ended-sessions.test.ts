import { status } from '@grpc/grpc-js';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { limits } from '../domain/limits.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';

/** Headsets that read nothing, not even the end of their stream. */

const most = { sessions: 2, waiting: 10 };
const ids = Array.from({ length: most.sessions + most.waiting }, (_, i) => `35000000000${1000 + i}`);

let world: World;
let time: FakeTime;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  for (const id of ids) world.registerKey(id, 'k1');
  time = createFakeTime(Date.now());
  instance = await world.start(
    {
      DEVICE_LINK_MAX_SESSIONS: most.sessions,
      DEVICE_LINK_MAX_WAITING: most.waiting,
      // Keys are checked by the machine's time.
      DEVICE_LINK_KEY_CHECK_MS: 50,
    },
    undefined,
    time,
    time,
  );
});
afterEach(() => world.close());

/** Ways to end a session other than its age, its silence or a newer session. */
const endings: Record<string, (headset: RawHeadset, id: string) => void> = {
  'a half-close': (headset) => headset.halfClose(),
  'a message that breaks the protocol': (headset) => headset.hello(),
  'the removal of its key': (_, id) => {
    if (world.keys) world.keys[id] = {};
  },
  'an activation that the next welcome must carry': (headset) => headset.ready(1),
};

async function begin(id: string): Promise<RawHeadset> {
  const before = world.online.length;
  const headset = world.dial(instance, { id, hello: {}, neverReads: true });
  await waitFor('the reconciliation', () => world.online.length > before);
  return headset;
}
const hasSession = async (id: string) => {
  const { sessionEpochs } = await instance.delivery.getPresence({ deviceIds: [id] });
  return sessionEpochs[id] !== undefined;
};

// protects against headsets/slow-reader
it.each(Object.keys(endings))(
  'the stream of a session that ended by %s is reset after the grace time',
  async (how) => {
    let welcomes = 0;
    // The first welcome carries no activation, so nothing that was accepted before may start in its session.
    world.onActivation = async () =>
      welcomes++ === 0 ? undefined : { epoch: 1n, revision: 1n, applicationId: 'app', sinceEpoch: 1n };
    const headset = await begin(deviceId);
    endings[how]?.(headset, deviceId);
    await waitFor('the end of the session', async () => !(await hasSession(deviceId)));
    expect(headset.end).toBeUndefined();
    // The sweep runs each second.
    await time.advance(limits.closeGraceMs + 1000);
    await headset.ended(status.CANCELLED);
  },
);

// protects against headsets/slow-reader
it('headsets that stop reading and close their half do not count towards the limits after the grace time', async () => {
  for (const id of ids) {
    const headset = await begin(id);
    headset.halfClose();
    await waitFor('the end of the session', async () => !(await hasSession(id)));
  }
  await time.advance(limits.closeGraceMs + 1000);
  // A connection without a stream may be replaced after some time.
  await time.advance(10_000);
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
});
