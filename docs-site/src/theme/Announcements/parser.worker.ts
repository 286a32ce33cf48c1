import { renderAnnouncements } from './document';
import type { Parsed, Source } from './parser';

const answer = (message: 'ready' | Parsed): void => self.postMessage(message);

self.addEventListener('message', ({ data }: MessageEvent<Source>) => {
  try {
    answer({ html: renderAnnouncements(data.text, data.base, data.origin) });
  } catch {
    // Nested so deep that the stack does not hold it.
    answer({ failure: { kind: 'tooComplex' } });
  }
});
answer('ready');
