import { createHash } from 'node:crypto';
import { http as plainHttp } from '@headset-cloud/demo/headset/http.ts';
import { type Artifact, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Fault, overHttp, receives, sends } from './fault.ts';

/** Treats one HTTP status of a download as another status. */
const treats = (status: number, as: number): Fault =>
  overHttp((http) => ({
    get: async (url, options) => {
      const response = await http.get(url, options);
      if (response.status !== status) return response;
      await response.body?.cancel();
      return new Response(null, { status: as });
    },
  }));

const startOf = (range: string | undefined) => Number(/\d+/.exec(range ?? '')?.[0] ?? 0);

const artifactOf = (change: (artifact: Artifact, id: bigint) => void): Fault =>
  receives('offer', ({ transactionId, operation }) => {
    const kind = operation?.kind;
    if (kind?.case === 'updateApp' && kind.value.artifact) change(kind.value.artifact, transactionId);
  });

/** Faults of updates, signed URLs and uploads. */
export const transferFaults = {
  'authorizes-downloads': overHttp((http) => ({
    get: (url, options) =>
      http.get(url, { ...options, headers: { ...options.headers, authorization: 'Bearer unwanted' } }),
  })),
  'loads-from-the-beginning': {
    options: ({ http = plainHttp, behaviour }) => ({
      http: {
        ...http,
        get: (url, { headers: { range: _, ...headers }, signal }) => http.get(url, { headers, signal }),
      },
      behaviour: { ...behaviour, downloadRetryMs: 1 },
    }),
  },
  /** Deletes the loaded bytes after an interruption, so they do not reset the counter of refused URLs or the wait. */
  'keeps-nothing-of-a-cut-load': overHttp((http) => ({
    get: async (url, options) => {
      const response = await http.get(url, options);
      try {
        const { status, headers } = response;
        return new Response(await response.arrayBuffer(), { status, headers });
      } catch {
        return new Response(null, { status: 503 });
      }
    },
  })),
  'appends-whole': overHttp((http) => ({
    get: async (url, options) => {
      const response = await http.get(url, options);
      const from = startOf(options.headers['range']);
      if (response.status !== 200 || from === 0) return response;
      const range = `bytes ${from}-${from}/*`;
      return new Response(response.body, { status: 206, headers: { 'content-range': range } });
    },
  })),
  'follows-endlessly': overHttp(() => ({ get: (url, options) => fetch(url, options) })),
  'follows-no-redirect': treats(302, 403),
  'refused-range-as-trouble': treats(416, 503),
  'refused-address-as-trouble': treats(403, 503),
  'trouble-as-refused-address': treats(503, 403),
  'too-many-requests-as-refused-address': treats(429, 403),
  /** Treats a 5xx as a loaded byte, which resets the counter of refused URLs. */
  'trouble-as-a-byte': overHttp((http) => ({
    get: async (url, options) => {
      const response = await http.get(url, options);
      if (response.status !== 503) return response;
      const from = startOf(options.headers['range']);
      const headers = { 'content-range': `bytes ${from}-${from}/*` };
      return new Response(new Uint8Array(1), { status: 206, headers });
    },
  })),
  /** Accepts any hash. */
  'ignores-wrong-hash': () => {
    let artifact: Artifact | undefined;
    return {
      ...artifactOf((offered) => {
        artifact = offered;
      }),
      ...overHttp((http) => ({
        get: async (url, options) => {
          const response = await http.get(url, options);
          const bytes = new Uint8Array(await response.arrayBuffer());
          if (artifact) artifact.sha256 = Uint8Array.from(createHash('sha256').update(bytes).digest());
          return new Response(bytes, { status: response.status });
        },
      })),
    };
  },
  'cut-stops-loads': () => {
    const loads = new Set<AbortController>();
    return {
      ...overHttp((http) => ({
        get: (url, options) => {
          const load = new AbortController();
          loads.add(load);
          return http.get(url, { ...options, signal: AbortSignal.any([options.signal, load.signal]) });
        },
      })),
      ended: (end) => {
        for (const load of loads) load.abort();
        return end;
      },
    };
  },
  'keeps-first-ticket': () => {
    const tickets = new Map<bigint, Uint8Array>();
    return artifactOf((artifact, id) => {
      artifact.ticket = tickets.get(id) ?? artifact.ticket;
      tickets.set(id, artifact.ticket);
    });
  },
  'uses-expired-address': receives('urlAnswer', (answer) => {
    answer.expiresAtMs = 0n;
  }),
  'asks-for-ever': receives('urlAnswer', (answer) => {
    if (answer.refusal === UrlRefusal.NOT_FOUND) answer.refusal = UrlRefusal.UNAVAILABLE;
  }),

  'same-request-id': () => {
    let real = 0n;
    return {
      ...sends('urlRequest', (request) => {
        real = request.requestId;
        request.requestId = 1n;
      }),
      ...receives('urlAnswer', (answer) => {
        answer.requestId = real;
      }),
    };
  },
  'asks-at-once': receives('urlAnswer', (answer) => {
    answer.retryAfterMs = 1;
  }),
  /** Does not repeat a URL request, neither after 30 s nor in a later session. */
  'asks-once': () => {
    const asked = new Set<bigint>();
    return sends('urlRequest', ({ requestId }) => {
      const isFirst = !asked.has(requestId);
      asked.add(requestId);
      return isFirst;
    });
  },
  'asks-all-at-once': () => {
    const asked = new Set<number>();
    return {
      out: (_, { headset, send }) => {
        for (const { id, file, sizeBytes, epoch } of headset.journal.uploads.values()) {
          if (asked.has(id)) continue;
          asked.add(id);
          const value = { file, sizeBytes: BigInt(sizeBytes), activationEpoch: BigInt(epoch) };
          const about = { case: 'upload' as const, value };
          send({ case: 'urlRequest', value: { requestId: BigInt(1000 + id), about } });
        }
      },
    };
  },

  'puts-content-type': overHttp(() => ({
    put: async (url, bytes, { signal }) => {
      const headers = { 'content-type': 'text/plain' };
      return (await fetch(url, { method: 'PUT', body: Buffer.from(bytes), headers, signal })).status;
    },
  })),
  'follows-put-redirect': overHttp(() => ({
    put: async (url, bytes, { signal }) =>
      (await fetch(url, { method: 'PUT', body: Buffer.from(bytes), signal })).status,
  })),
  'puts-again': overHttp((http) => ({
    put: async (url, bytes, options) => {
      const status = await http.put(url, bytes, options);
      return status < 300 ? status : http.put(url, bytes, options);
    },
  })),
  'waits-for-storage-forever': overHttp((http) => ({
    put: (url, bytes, options) => http.put(url, bytes, { ...options, idleMs: 0 }),
  })),
  'finishes-put': overHttp((http) => ({
    put: (url, bytes, options) => http.put(url, bytes, { ...options, signal: new AbortController().signal }),
  })),
} satisfies Record<string, Fault | (() => Fault)>;
