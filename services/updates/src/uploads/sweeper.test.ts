import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { pino } from 'pino';
import type { UploadStore } from '../ports/upload-store.ts';
import { createSweeper } from './sweeper.ts';

test('while one file is read, the sweep checks the next upload', async () => {
  const looked: string[] = [];
  const end = Promise.withResolvers<{ kind: 'deliverable'; tag: string }>();
  const sweeper = createSweeper({
    uploads: {
      due: async () => ['long', 'next'],
      resetFutureDueTimes: async () => {},
    } as Partial<UploadStore> as UploadStore,
    async check(id, onFile) {
      looked.push(id);
      if (id !== 'long') return { kind: 'absent' };
      onFile?.();
      return end.promise;
    },
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    ...{ intervalMs: 10, leaseMs: 1000, lifetimeMs: 1000 },
  });
  sweeper.start();
  await waitFor('the next upload', () => looked.includes('next'));
  let stopped = false;
  const stopping = sweeper.stop().then(() => {
    stopped = true;
  });
  await new Promise(setImmediate);
  expect(stopped).toBe(false);
  end.resolve({ kind: 'deliverable', tag: '' });
  await stopping;
});
