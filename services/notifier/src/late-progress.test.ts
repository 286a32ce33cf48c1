import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, seen, status, useWorld } from './testing/fixture.ts';
import type { TestNotifier } from './testing/world.ts';

const use = useWorld();

// proves cb/3/update
test.each([
  ['the running instance', async (_: TestNotifier) => {}],
  [
    'a new one',
    async (notifier: TestNotifier) => {
      await notifier.stop();
      await use.world.start();
    },
  ],
])('a progress whose event arrives after a delivered later one is not sent by %s', async (_, before) => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  const end = { ...event, notificationId: 'end', sequence: 5 };
  await use.world.publish({ ...event, notificationId: 'p-3', sequence: 4, replaceable: true });
  await waitFor('the progress has arrived', () => ids(server).length === 1);
  await use.world.publish({ ...event, notificationId: 'p-1', sequence: 2, replaceable: true });
  await use.world.publish(end);
  await waitFor('the end has arrived', () => ids(server).length === 2);
  await before(notifier);
  await use.world.publish(
    { ...event, notificationId: 'p-2', sequence: 3, replaceable: true },
    { ...event, notificationId: 'n-1', orderKey: 't-2', sequence: 1 },
  );
  await waitFor('the callback published after it has arrived', () => ids(server).length === 3);
  expect(seen(server)).toEqual(['p-3', 'end', 'n-1']);
  for (const id of ['p-1', 'p-2']) {
    await expect(status(use.world.newest, id)).rejects.toMatchObject({ code: 'not_found' });
  }
  await waitFor('its end', async () => (await status(use.world.newest, 'p-3')) === 'delivered');
  // A callback that an operator sends again is sent, whatever later events exist.
  await use.world.newest.admin.redeliverDelivery({ notificationId: 'p-3' });
  await waitFor('it has arrived again', () => seen(server).length === 4);
  expect(seen(server).at(-1)).toBe('p-3');
});
