import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';
import { activate, firstApplication, secondApplication } from './activations.ts';

const unavailable = 14;

/** Requests a report with this text, as if an app had sent it. */
function requestReport(stage: Stage, text: string): void {
  stage.client.request({ action: 'report', customData: { success: true, customData: text } });
}

/** Returns the texts of an app's reports on this stream, in order. */
function texts(link: Link): readonly string[] {
  return link.reportsOf('customData').map(({ value }) => value.customData);
}

async function untilReported(link: Link, text: string) {
  return await link.until(`the report "${text}"`, () =>
    link.reportsOf('customData').find(({ value }) => value.customData === text),
  );
}

/** Returns the ids of an app's reports on this stream, without other reports of the headset. */
function idsOf(link: Link): bigint[] {
  return link.reportsOf('customData').map(({ report }) => report.reportId);
}

/** Waits for the first of an app's reports and returns its id. */
async function firstReported(link: Link): Promise<bigint | undefined> {
  return await link.until('the stored report', () => idsOf(link)[0]);
}

/** Requests three reports without acknowledging them. Returns their ids. */
async function threeKept(stage: Stage, link: Link): Promise<bigint[]> {
  stage.cloud.acknowledges = false;
  for (const text of ['a', 'b', 'c']) requestReport(stage, text);
  await untilReported(link, 'c');
  return idsOf(link);
}

/** Verifies that a report and an upload of the first application's apps have its epoch, 3. */
async function mustHaveFormerEpoch(stage: Stage, link: Link, text: string): Promise<void> {
  requestReport(stage, text);
  const { activationEpoch: reported } = (await untilReported(link, text)).report;
  must(reported === 3n, `a report before the activation takes effect has epoch ${reported}, not 3`);
  const file = `${firstApplication}/${stage.imei}/upload_files/${text.length}.bin`;
  stage.client.request({ action: 'upload', file, sizeBytes: 1 });
  const asked = await link.until('the URL request', () =>
    link.urlRequests
      .flatMap(({ about }) => (about.case === 'upload' ? [about.value.activationEpoch] : []))
      .at(-1),
  );
  must(asked === 3n, `an upload before the activation takes effect has epoch ${asked}, not 3`);
}

export const reports: readonly Rule[] = [
  {
    id: 'reports/rising',
    sentence: 'Send in rising order',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      for (const text of ['a', 'b', 'c']) requestReport(stage, text);
      await stage.fence(link);
      await untilReported(link, 'c');
      must(texts(link).join('') === 'abc', `reported in the order ${texts(link)}`);
      const next = await stage.afterCut(link);
      await stage.fence(next);
    },
  },
  {
    id: 'reports/again',
    sentence: 'in each session again from the oldest that is kept',
    prove: async (stage) => {
      const link = await stage.begin();
      const ids = await threeKept(stage, link);
      const same = async (next: Link, expected: readonly bigint[], when: string) => {
        await stage.fence(next);
        const came = idsOf(next);
        must(String(came) === String(expected), `${when} reports ${came} came first, not ${expected}`);
      };
      const second = await stage.afterCut(link);
      await same(second, ids, 'after a cut');
      second.ack(ids[0] ?? 0n);
      await stage.readyFence(second);
      await same(await stage.afterKill(), ids.slice(1), 'after a kill');
    },
  },
  {
    id: 'reports/same-id',
    sentence: 'The counter must survive; gaps do no harm, a number that is used twice does',
    prove: async (stage) => {
      const link = await stage.begin();
      const { report } = await stage.fence(link);
      await stage.readyFence(link);
      const next = await stage.afterKill();
      const later = (await stage.fence(next)).report;
      must(later.reportId > report.reportId, `after ${report.reportId} a new report has ${later.reportId}`);
    },
  },
  {
    id: 'reports/older-counter',
    sentence: 'continue at the greater of acked_report_id + 1 and the corrected clock in milliseconds',
    prove: async (stage) => {
      const link = await stage.begin();
      await stage.fence(link);
      link.cut();
      const next = await stage.cloud.greeted();
      // Simulates a headset whose state was restored from a copy: the cloud has newer reports.
      const acked = BigInt(stage.cloud.nowMs() + 86_400_000);
      stage.cloud.welcome(next, acked);
      const { report } = await stage.fence(next);
      must(report.reportId > acked, `a new report has ${report.reportId}; ${acked} is acknowledged`);
    },
  },
  {
    id: 'reports/empty-store',
    sentence:
      'An empty store begins there too, because a new headset cannot be distinguished from one that lost everything.',
    prove: async (stage) => {
      const link = await stage.begin();
      const { report } = await stage.fence(link);
      const atLeast = BigInt(stage.cloud.nowMs() - 300_000);
      must(
        report.reportId > atLeast,
        `the first report has ${report.reportId}, not the clock's milliseconds`,
      );
    },
  },
  {
    id: 'reports/numbers-after-welcome',
    sentence:
      'Only a welcome shows the loss. So after each start of the client assign numbers only at the first welcome; until then, store reports without a number, in their order.',
    prove: async (stage) => {
      const link = await stage.begin();
      await stage.fence(link);
      await stage.readyFence(link);
      await stage.client.restart();
      const refused = await stage.cloud.greeted(60_000);
      for (const text of ['a', 'b']) requestReport(stage, text);
      refused.end(unavailable, 'full', { 'x-retry-after-ms': '1500' });
      const next = await stage.cloud.greeted(1500);
      // Simulates a headset whose state was restored from a copy: the cloud has newer reports.
      const acked = BigInt(stage.cloud.nowMs() + 86_400_000);
      stage.cloud.welcome(next, acked);
      await untilReported(next, 'b');
      must(texts(next).join('') === 'ab', `reported in the order ${texts(next)}`);
      for (const id of idsOf(next)) must(id > acked, `a new report has ${id}; ${acked} is acknowledged`);
    },
  },
  {
    id: 'reports/size',
    sentence:
      'Cut texts and lists to their limits before storing a report; a report over 256 KiB is never stored.',
    prove: async (stage) => {
      const link = await stage.begin();
      const long = '長'.repeat(100_000);
      requestReport(stage, long);
      const { value } = await link.until(
        'the report with a long text',
        () => link.reportsOf('customData')[0],
      );
      const { length } = value.customData;
      must(length <= 65_536, `the text has ${length} characters, not 65536`);
      must(length > 0 && long.startsWith(value.customData), 'the text is different');
      await stage.fence(link);
      const { value: answered } = await stage.fence(await stage.afterKill());
      must(answered.success, 'a command failed');
    },
  },
  {
    id: 'reports/acknowledged',
    sentence: 'everything up to n is durable in the cloud. Forget those reports, and nothing sooner.',
    prove: async (stage) => {
      const link = await stage.begin();
      const ids = await threeKept(stage, link);
      link.ack(ids[1] ?? 0n);
      await stage.readyFence(link);
      const next = await stage.afterCut(link);
      const first = await firstReported(next);
      must(first === ids[2], `report ${first} came first, but ${ids[2]} is the oldest stored report`);
    },
  },
  {
    id: 'reports/acked-in-welcome',
    sentence: 'acked_report_id: the reports up to this id are durable, forget them.',
    prove: async (stage) => {
      const link = await stage.begin();
      const ids = await threeKept(stage, link);
      link.cut();
      const next = await stage.cloud.greeted();
      stage.cloud.welcome(next, ids[1]);
      const first = await firstReported(next);
      must(first === ids[2], `report ${first} came first, but ${ids[2]} is the oldest stored report`);
    },
  },
  {
    id: 'reports/after-welcome',
    sentence: 'Wait for welcome … Send the reports that are still kept, oldest first, and handle what comes.',
    prove: async (stage) => {
      const link = await stage.begin();
      await threeKept(stage, link);
      link.cut();
      const next = await stage.cloud.greeted();
      await next.ping();
      must(next.messages.length === 1, `${next.messages[1]?.body.case} came before welcome`);
      stage.cloud.welcome(next);
      await untilReported(next, 'c');
    },
  },
  {
    id: 'reports/window',
    sentence: 'Up to 256 reports may be on their way without an ack.',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication));
      await stage.readyFence(link);
      stage.cloud.acknowledges = false;
      const all = Array.from({ length: 300 }, (_, i) => `text ${i}`);
      for (const text of all) requestReport(stage, text);
      // A URL request needs no acknowledgement, and proves that the headset has read the earlier lines.
      const file = `${firstApplication}/${stage.imei}/upload_files/after.bin`;
      stage.client.request({ action: 'upload', file, sizeBytes: 1 });
      await link.until('the URL request', () => link.urlRequests.length > 0);
      await stage.readyFence(link);
      const inFlight = link.reports.filter(({ reportId }) => reportId > link.ackedReportId).length;
      must(inFlight <= 256, `${inFlight} reports without an ack`);
      stage.cloud.acknowledges = true;
      link.ack(link.reports.at(-1)?.reportId ?? 0n);
      await untilReported(link, 'text 299');
      must(String(texts(link)) === String(all), 'a report is missing or was repeated');
    },
  },
  {
    id: 'reports/kept-while-offline',
    sentence: 'the headset keeps every report until report_ack covers it',
    prove: async (stage) => {
      const link = await stage.begin();
      link.cut();
      const waiting = await stage.cloud.greeted();
      for (const text of ['a', 'b']) requestReport(stage, text);
      // The headset reads its standard input before it answers on the stream.
      stage.cloud.welcome(waiting);
      await untilReported(waiting, 'b');
      stage.cloud.acknowledges = false;
      requestReport(stage, 'c');
      await untilReported(waiting, 'c');
      const next = await stage.afterKill();
      await untilReported(next, 'c');
    },
  },
  {
    id: 'reports/epoch',
    sentence: 'the taken epoch when it happened, not when it is sent; it is never rewritten',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      stage.cloud.acknowledges = false;
      requestReport(stage, 'before');
      const before = await untilReported(link, 'before');
      await link.run(stage.id(), activate(secondApplication), { epoch: 4n });
      requestReport(stage, 'after');
      const after = await untilReported(link, 'after');
      must(
        before.report.activationEpoch === 3n,
        `the first has epoch ${before.report.activationEpoch}, not 3`,
      );
      must(
        after.report.activationEpoch === 4n,
        `the second has epoch ${after.report.activationEpoch}, not 4`,
      );
      const next = await stage.afterKill();
      const again = (await untilReported(next, 'before')).report.activationEpoch;
      must(again === 3n, `sent again, the first has epoch ${again}, not 3`);
    },
  },
  {
    id: 'reports/taken-epoch',
    sentence:
      'An offer alone does not raise it, nor does work of another kind … So reports and uploads carry the taken epoch. Reports that are stored with a change (the snapshot, the result) carry the new epoch',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const next = stage.id();
      link.offer(next, activate(secondApplication), { epoch: 5n });
      await link.ready(next);
      await mustHaveFormerEpoch(stage, link, 'former');
      const last = await stage.afterKill();
      must(last.hello.activationEpoch === 5n, `hello has epoch ${last.hello.activationEpoch}, not 5`);
      await mustHaveFormerEpoch(stage, last, 'former, after a kill');
      last.start(next);
      const { report } = await last.result(next);
      must(report.activationEpoch === 5n, `the result has epoch ${report.activationEpoch}, not 5`);
      requestReport(stage, 'next');
      const own = (await untilReported(last, 'next')).report.activationEpoch;
      must(own === 5n, `a report after the activation has epoch ${own}, not 5`);
    },
  },
];
