import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Fault, heldAs, receives, sends } from './fault.ts';

const pingsEach = (ms: number): Fault => ({
  options: () => ({ channelOptions: { 'grpc.keepalive_time_ms': ms } }),
});
const longestMs = 2 ** 31 - 1;

/** Faults of connections, the clock and hello. Comments describe the client's behavior. */
export const sessionFaults = {
  'no-backoff': { options: () => ({ backoff: { firstMs: 1, maxMs: 1 } }) },
  /** Simulates an acknowledgement after each welcome, which resets the back-off. */
  'welcome-resets-backoff': receives('welcome', (_, at) => at.receive({ case: 'reportAck', value: {} })),
  'ignores-retry-after': {
    ...receives('goAway', (goAway) => {
      goAway.retryAfterMs = 0;
    }),
    ended: (end) => ({ ...end, retryAfterMs: 0 }),
  },
  'reuses-token': () => {
    let first: string | undefined;
    return {
      token: (token) => {
        first ??= token;
        return first;
      },
    };
  },
  'uncorrected-clock': {
    ...receives('welcome', (welcome) => {
      welcome.serverTimeMs = BigInt(Date.now());
    }),
    ended: (end) => ({ ...end, serverTimeMs: 0 }),
  },
  /** Ignores the delay of the welcome when it corrects the clock. */
  'ignores-delay': { options: () => ({ clock: { now: () => Date.now(), monotonicNow: () => 0 } }) },
  'corrects-hello-clock': () => {
    let correctionMs = 0n;
    return {
      ...receives('welcome', ({ serverTimeMs }) => {
        correctionMs = serverTimeMs - BigInt(Date.now());
      }),
      ...sends('hello', (hello) => {
        hello.clockMs += correctionMs;
      }),
      ended: (end) => {
        if (end.serverTimeMs > 0) correctionMs = BigInt(end.serverTimeMs - Date.now());
        return end;
      },
    };
  },
  'waits-for-welcome-forever': { options: () => ({ welcomeMs: longestMs }) },
  'reports-before-welcome': sends('hello', (_, { headset, send }) => {
    setImmediate(() => {
      for (const value of headset.journal.reports.values()) send({ case: 'report', value });
    });
  }),
  'no-pings': pingsEach(longestMs),
  'pings-rarely': pingsEach(25_000),
  'ends-on-unknown': { in: (body, { headset }) => body.case ?? headset.disconnect() },
  'uses-old-stream': { usesOldStreams: true },
  'hides-held': sends('hello', (hello) => {
    hello.held = [];
  }),
  'says-interrupted-is-finished': sends('hello', (hello, at) => {
    for (const held of hello.held) {
      if (heldAs(at, held.transactionId) === 'started') held.state = HeldState.FINISHED;
    }
  }),
  'older-counter-in-hello': sends('hello', (hello) => {
    hello.lastReportId = 0n;
  }),
  'counter-beside-unnumbered': sends('hello', (hello) => {
    hello.lastReportId ??= 0n;
  }),
} satisfies Record<string, Fault | (() => Fault)>;
