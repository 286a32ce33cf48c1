import { pino } from 'pino';
import { repeat } from './repeat.ts';
import { createFakeTime } from './testing/fake-time.ts';

test('a wake during a run that fails starts another run at once', async () => {
  const time = createFakeTime();
  let runs = 0;
  const repetition = repeat(
    'the work',
    60_000,
    pino({ level: 'silent' }),
    async () => {
      runs += 1;
      if (runs > 1) return 0;
      repetition.wake();
      throw new Error('failed');
    },
    time,
  );
  repetition.start();
  await time.advance(60_000);
  await time.advance(1);
  expect(runs).toBe(2);
  await repetition.stop();
});
