import type { Parsed } from './parser';
import { readAnnouncements } from './tree';

const answer = (message: 'ready' | Parsed): void => self.postMessage(message);

self.addEventListener('message', ({ data }: MessageEvent<string>) => {
  try {
    answer({ nodes: readAnnouncements(data) });
  } catch {
    // Nested so deep that the stack does not hold it.
    answer({ failure: { kind: 'tooComplex' } });
  }
});
answer('ready');
