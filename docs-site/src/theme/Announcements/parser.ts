export type Parsed =
  | { readonly html: string }
  | { readonly failure: { readonly kind: 'tooComplex' | 'noParser' } };

export const parserLoadTimeoutMs = 10_000;
export const parseTimeoutMs = 2000;

/** Input of the worker: Markdown, address of its document, and origin of the page. */
export interface Source {
  readonly text: string;
  readonly base: string;
  readonly origin: string;
}

/**
 * Renders announcements in a separate worker, so that a hostile document cannot block the page. The worker ends after
 * its result, on `signal`, or after a timeout. The parse timeout starts with the worker's 'ready', so that the time to
 * load the worker does not count. Never throws.
 */
export function parseAnnouncements(source: Source, signal: AbortSignal): Promise<Parsed> {
  const { promise, resolve } = Promise.withResolvers<Parsed>();
  const fail = (kind: 'tooComplex' | 'noParser') => () => resolve({ failure: { kind } });
  let worker: Worker;
  try {
    worker = new Worker(
      /* webpackChunkName: "announcement-parser" */ new URL('./parser.worker.ts', import.meta.url),
    );
  } catch {
    fail('noParser')();
    return promise;
  }
  let timer = setTimeout(fail('noParser'), parserLoadTimeoutMs);
  worker.addEventListener('message', ({ data }: MessageEvent<'ready' | Parsed>) => {
    if (data !== 'ready') {
      resolve(data);
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(fail('tooComplex'), parseTimeoutMs);
    worker.postMessage(source);
  });
  worker.addEventListener('error', fail('noParser'));
  signal.addEventListener('abort', fail('noParser'), { once: true });
  if (signal.aborted) fail('noParser')();
  return promise.finally(() => {
    clearTimeout(timer);
    worker.terminate();
  });
}
