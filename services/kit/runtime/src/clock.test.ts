import { systemTime } from './clock.ts';
import { waitFor } from './testing/wait.ts';

test('a timer of more than 24.8 days does not fire at once', async () => {
  let fired = false;
  const timer = systemTime.setTimeout(() => {
    fired = true;
  }, 2 ** 31);
  // This timer is started later, and fires after every timer of 1 ms.
  let isLater = false;
  systemTime.setTimeout(() => {
    isLater = true;
  }, 2);
  await waitFor('the later timer', () => isLater);
  expect(fired).toBe(false);
  systemTime.clearTimer(timer);
});
