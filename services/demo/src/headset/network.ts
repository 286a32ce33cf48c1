import { systemTime } from '@headset-cloud/runtime/clock.ts';
import type { Behaviour } from './behaviour.ts';
import type { GetOptions, Http } from './http.ts';

/** An HTTP client over a simulated bad network: downloads are slow, cut or corrupted as configured in `behaviour`. */
export function simulatedNetwork(http: Http, behaviour: Behaviour): Http {
  return {
    ...http,
    get: async (url, options) => {
      const response = await http.get(url, options);
      const { status, headers, body } = response;
      if (!body || (status !== 200 && status !== 206)) return response;
      return new Response(ReadableStream.from(transfer(body, options, behaviour)), { status, headers });
    },
  };
}

async function* transfer(
  body: ReadableStream<Uint8Array>,
  { headers, signal }: GetOptions,
  behaviour: Behaviour,
): AsyncGenerator<Uint8Array> {
  const from = Number(/\d+/.exec(headers['range'] ?? '')?.[0] ?? 0);
  const isCorrupt = behaviour.corruptDownloads > 0;
  if (isCorrupt) behaviour.corruptDownloads -= 1;
  let loaded = from;
  for await (const chunk of body) {
    if (isCorrupt && loaded === from) chunk[0] = (chunk[0] ?? 0) ^ 1;
    const before = loaded;
    loaded += chunk.length;
    yield chunk;
    const { cutDownloadAtBytes: limit, downloadBytesPerSecond: speed } = behaviour;
    if (before < limit && loaded >= limit)
      throw new Error('The simulated network has interrupted the download.');
    if (speed > 0) await systemTime.sleep((chunk.length / speed) * 1000, { signal });
  }
}
