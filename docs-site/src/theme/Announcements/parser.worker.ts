import { renderAnnouncements } from './document';
import type { Parsed, Source } from './parser';

const answer = (message: 'ready' | Parsed): void => self.postMessage(message);

self.addEventListener('message', ({ data }: MessageEvent<Source>) => {
  try {
    answer({ html: renderAnnouncements(data.text, data.base, data.origin) });
  } catch {
    // Stack overflow: the document is nested too deeply.
    answer({ failure: { kind: 'tooComplex' } });
  }
});
answer('ready');
