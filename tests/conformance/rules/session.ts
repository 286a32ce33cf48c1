import { create, type UnknownField } from '@bufbuild/protobuf';
import { ConnectResponseSchema, GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Rule } from '../rule.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustHold } from './offers.ts';

const dayMs = 86_400_000;
/** Maximum difference of two readings of one clock on a slow machine; milliseconds. */
const sameTimeMs = 300_000;
const unavailable = 14;
const invalidArgument = 3;
/** Longer than the first wait of the back-off plus a connection on a slow machine; milliseconds. */
const backedOffMs = 1500;
/** Maximum time to detect a silent cloud and to wait before the first reconnect; milliseconds. */
const noticeMs = 30_000;
const firstWaitMs = 500;
/** Duration of the suspension: shorter than the silence after which a download is interrupted; milliseconds. */
const sleepMs = 20_000;
/** An unknown field, like a field of a later version. */
const unknownField: UnknownField = { no: 99, wireType: 2, data: Uint8Array.from([2, 8, 1]) };

export const session: readonly Rule[] = [
  {
    id: 'session/token',
    sentence:
      'For each connection the headset signs a new JWT and sends it in the metadata as authorization: Bearer <JWT>',
    prove: async (stage) => {
      const second = await stage.afterCut(await stage.begin());
      // Tokens of the same second may be equal, so the next connection must come later.
      second.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING, retryAfterMs: 2500 } });
      second.end();
      await stage.fence(await stage.cloud.online(2500));
    },
  },
  {
    id: 'session/hello',
    sentence:
      'hello, exactly once, first, within 10 s … versions, apps, languages and hardware, complete and as they are now',
    prove: async (stage) => {
      const first = await stage.begin();
      const { hello } = first;
      must(hello.protocolVersion === 1, `protocol_version is ${hello.protocolVersion}, not 1`);
      must(hello.clientVersion !== '', 'client_version is empty');
      must(hello.firmwareVersion !== '', 'firmware_version is empty');
      must(hello.languages.length > 0, 'languages is empty');
      must(hello.hardware?.modelIdentifier, 'hardware.model_identifier is empty');
      must(hello.clockMs > 0n, 'clock_ms is missing');
      must(
        hello.held.length === 0 && hello.activationEpoch === 0n,
        'a headset without data holds transactions or an activation',
      );
      const update = stage.update();
      await first.run(stage.id(), update);
      const second = await stage.afterCut(first);
      const installed = second.hello.apps.find((app) => app.package === update.value.package)?.version;
      must(installed === update.value.version, `hello has version ${installed}, not ${update.value.version}`);
      await stage.fence(second);
    },
  },
  {
    id: 'session/last-report-id',
    sentence:
      'last_report_id, the highest report id it has used, read in the same moment as the versions, apps and languages',
    prove: async (stage) => {
      const first = await stage.begin();
      if (first.hello.lastReportId === undefined)
        throw new NotApplicable('hello does not set last_report_id');
      await first.run(stage.id(), stage.update());
      const highest = first.reports.reduce((most, { reportId }) => (reportId > most ? reportId : most), 0n);
      must(highest > 0n, 'no report was sent');
      const second = await stage.afterCut(first);
      const { lastReportId = 0n } = second.hello;
      must(
        lastReportId >= highest,
        `last_report_id is ${lastReportId}, but report ${highest} was sent before`,
      );
      await stage.fence(second);
    },
  },
  {
    id: 'session/clock-from-trailer',
    sentence: 'Keep the difference to your own clock, sign the next token with the corrected time',
    prove: async (stage) => {
      stage.cloud.clockOffsetMs = -dayMs;
      const first = await stage.connect();
      must(!stage.cloud.timesAreGood(first), 'the first token does not have the time of this machine');
      stage.cloud.refuse(first);
      const second = await stage.cloud.next();
      const off = second.token.iat * 1000 - stage.cloud.nowMs();
      must(
        stage.cloud.timesAreGood(second),
        `the token after the correction is ${Math.round(off / 1000)} s off`,
      );
    },
  },
  {
    id: 'session/hello-clock',
    sentence: 'clock_ms, its clock without correction',
    prove: async (stage) => {
      stage.cloud.clockOffsetMs = dayMs;
      const refused = await stage.connect();
      stage.cloud.refuse(refused);
      const { hello } = await stage.cloud.online();
      const off = Number(hello.clockMs) - refused.token.iat * 1000;
      must(Math.abs(off) < sameTimeMs, `clock_ms is ${off} ms from the first token's uncorrected time`);
    },
  },
  {
    id: 'session/clock-in-reports',
    sentence: "by the corrected clock: the headset's own clock plus the newest correction",
    prove: async (stage) => {
      stage.cloud.clockOffsetMs = 3 * dayMs;
      const link = await stage.begin();
      const { report } = await stage.fence(link);
      const off = Number(report.occurredAtMs) - stage.cloud.nowMs();
      must(Math.abs(off) < sameTimeMs, `occurred_at_ms is ${off} ms from the cloud's clock`);
    },
  },
  {
    id: 'session/back-off',
    sentence:
      'After the n-th end in a row (n from 0) wait a random time between 0 and min(60 s, 0.5 s × 2ⁿ), then try again, for ever.',
    seconds: 8,
    prove: async (stage) => {
      let link = await stage.connect();
      const startedMs = link.openedMs;
      for (let n = 0; n < 5; n += 1) {
        link.end(unavailable);
        link = await stage.cloud.next(500 * 2 ** n);
      }
      const waitedMs = link.openedMs - startedMs;
      // The random waits are this short once in 100,000 runs.
      must(waitedMs > 500, `five ends in a row, and only ${waitedMs.toFixed(0)} ms of waiting`);
    },
  },
  {
    id: 'session/back-off-after-welcome',
    sentence:
      'A session that got a report_ack, that lasted 60 s after its welcome, or that DRAINING ended, resets n; a welcome alone does not.',
    seconds: 6,
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      let link = await stage.begin();
      let longestMs = 0;
      // All random waits are this short once in ten million runs.
      for (let n = 0; n < 9 && longestMs <= backedOffMs; n += 1) {
        await stage.readyFence(link);
        const endedMs = performance.now();
        link.end(invalidArgument, 'out of form');
        link = await stage.cloud.online(500 * 2 ** n);
        longestMs = Math.max(longestMs, link.openedMs - endedMs);
      }
      must(longestMs > backedOffMs, `nine sessions ended, and no wait over ${longestMs.toFixed(0)} ms`);
    },
  },
  {
    id: 'session/retry-after-go-away',
    sentence: 'Never connect before the time that go_away.retry_after_ms … asks for',
    prove: async (stage) => {
      const link = await stage.begin();
      const saidMs = performance.now();
      link.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING, retryAfterMs: 2500 } });
      link.end();
      const waitedMs = (await stage.cloud.next(2500)).openedMs - saidMs;
      must(waitedMs > 2450, `connected again after ${waitedMs.toFixed(0)} ms, not 2500`);
    },
  },
  {
    id: 'session/retry-after-trailer',
    sentence: 'Never connect before the time that … the trailer x-retry-after-ms, asks for',
    prove: async (stage) => {
      const link = await stage.connect();
      const saidMs = performance.now();
      link.end(unavailable, 'full', { 'x-retry-after-ms': '2500' });
      const waitedMs = (await stage.cloud.next(2500)).openedMs - saidMs;
      must(waitedMs > 2450, `connected again after ${waitedMs.toFixed(0)} ms, not 2500`);
    },
  },
  {
    id: 'session/welcome-awaited',
    sentence: 'Wait for welcome, for 10 s; then drop the connection, not only the call',
    seconds: 12,
    prove: async (stage) => {
      const link = await stage.connect();
      const next = await stage.cloud.next(10_000);
      must(next.gate !== link.gate, 'the new stream uses the silent connection');
      must(link.messages.length === 1, `sent ${link.messages[1]?.body.case} before welcome`);
    },
  },
  {
    id: 'session/silent-cloud',
    sentence:
      'Send HTTP/2 pings (gRPC keepalive) each 20 s and consider the connection dead when a ping has no answer for 8 s.',
    seconds: 30,
    prove: async (stage) => {
      const link = await stage.begin();
      await stage.readyFence(link);
      stage.exchange.note('stops sending; the connection stays open');
      const silentMs = performance.now();
      link.gate.freeze();
      const next = await stage.cloud.online(30_000);
      const noticedMs = next.openedMs - silentMs;
      must(
        noticedMs <= noticeMs + firstWaitMs,
        `connected again ${(noticedMs / 1000).toFixed(1)} s after the cloud fell silent`,
      );
      await stage.fence(next);
    },
  },
  {
    id: 'session/sleep',
    sentence: 'Sleep is no restart: while the headset sleeps, or the client is suspended, every state stays.',
    seconds: 20,
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      stage.client.suspend();
      await new Promise((resolve) => setTimeout(resolve, sleepMs));
      link.cut();
      stage.client.wake();
      const next = await stage.cloud.online();
      mustHold(stage, next, { [String(id)]: 'STARTED' });
      next.start(id);
      stage.files.release();
      const { value } = await next.result(id);
      must(
        value.success && stage.effects(id) === 1,
        `success ${value.success}, ${stage.effects(id)} effects`,
      );
      const gets = stage.files.of('GET').length;
      must(gets === 1, `${gets} GETs, although the pause did not interrupt the download`);
    },
  },
  {
    id: 'session/pings-answered',
    sentence: 'The cloud does the same: a silent peer is noticed within 30 s.',
    prove: async (stage) => {
      const link = await stage.begin();
      await stage.fence(link);
      for (let i = 0; i < 10; i += 1) {
        await link.ping();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  },
  {
    id: 'session/unknown-ignored',
    sentence: 'Unknown fields and unknown kinds of messages from the cloud are ignored',
    prove: async (stage) => {
      const link = await stage.begin();
      const kind = create(ConnectResponseSchema);
      kind.$unknown = [unknownField];
      link.sendUnknown(kind, 'an unknown message');
      const id = stage.id();
      const value = {
        ...{ transactionId: id, activationEpoch: 1n, operationId: 'conformance' },
        operation: { kind: stage.command() },
      };
      const offer = create(ConnectResponseSchema, { body: { case: 'offer', value } });
      if (offer.body.value) offer.body.value.$unknown = [unknownField];
      link.sendUnknown(offer, `an offer of ${id} with an unknown field`);
      await link.ready(id);
      link.start(id);
      await link.result(id);
      must(stage.cloud.links.length === 1, 'the headset ended its session');
    },
  },
  {
    id: 'session/one-stream',
    sentence:
      'A session is over with go_away … From then on, ignore everything that arrives on the old stream.',
    prove: async (stage) => {
      stage.cloud.endsWithClient = false;
      const old = await stage.begin();
      const id = stage.id();
      old.offer(id, stage.command());
      await old.ready(id);
      old.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING, retryAfterMs: 1 } });
      const link = await stage.cloud.online();
      old.start(id);
      await stage.fence(link);
      must(stage.effects(id) === 0, 'a start on an earlier stream had an effect');
    },
  },
];
