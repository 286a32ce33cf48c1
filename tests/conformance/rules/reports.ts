import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';
import { activate, firstApplication, secondApplication } from './activations.ts';

const unavailable = 14;

/** Makes an app of the headset send a report with this text. */
function tell(stage: Stage, text: string): void {
  stage.client.tell({ action: 'report', customData: { success: true, customData: text } });
}

/** The texts of an app's reports on this stream, in order. */
function texts(link: Link): readonly string[] {
  return link.reportsOf('customData').map(({ value }) => value.customData);
}

async function untilTold(link: Link, text: string) {
  return await link.until(`the report "${text}"`, () =>
    link.reportsOf('customData').find(({ value }) => value.customData === text),
  );
}

/** The ids of an app's reports on this stream; the headset may send other reports by itself. */
function idsOf(link: Link): bigint[] {
  return link.reportsOf('customData').map(({ report }) => report.reportId);
}

/** The first of an app's reports. */
async function firstTold(link: Link): Promise<bigint | undefined> {
  return await link.until('the report that is kept', () => idsOf(link)[0]);
}

/** Makes three reports that are not acknowledged; returns their ids. */
async function threeKept(stage: Stage, link: Link): Promise<bigint[]> {
  stage.cloud.acknowledges = false;
  for (const text of ['a', 'b', 'c']) tell(stage, text);
  await untilTold(link, 'c');
  return idsOf(link);
}

/** A report and an upload of the first application's apps must bear its epoch, 3. */
async function formersBear(stage: Stage, link: Link, text: string): Promise<void> {
  tell(stage, text);
  const { activationEpoch: told } = (await untilTold(link, text)).report;
  must(told === 3n, `a report before the activation takes effect bears epoch ${told}, not 3`);
  const file = `${firstApplication}/${stage.imei}/upload_files/${text.length}.bin`;
  stage.client.tell({ action: 'upload', file, sizeBytes: 1 });
  const asked = await link.until('the request for an address', () =>
    link.urlRequests
      .flatMap(({ about }) => (about.case === 'upload' ? [about.value.activationEpoch] : []))
      .at(-1),
  );
  must(asked === 3n, `an upload before the activation takes effect bears epoch ${asked}, not 3`);
}

export const reports: readonly Rule[] = [
  {
    id: 'reports/rising',
    sentence: 'Send in rising order',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      for (const text of ['a', 'b', 'c']) tell(stage, text);
      await stage.fence(link);
      await untilTold(link, 'c');
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
      must(later.reportId > report.reportId, `after ${report.reportId} a new report bears ${later.reportId}`);
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
      // As if the headset's state was restored from a copy: the cloud has newer reports.
      const acked = BigInt(stage.cloud.nowMs() + 86_400_000);
      stage.cloud.welcome(next, acked);
      const { report } = await stage.fence(next);
      must(report.reportId > acked, `a new report bears ${report.reportId}; ${acked} is acknowledged`);
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
        `the first report bears ${report.reportId}, not the clock's milliseconds`,
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
      for (const text of ['a', 'b']) tell(stage, text);
      refused.end(unavailable, 'full', { 'x-retry-after-ms': '1500' });
      const next = await stage.cloud.greeted(1500);
      // As if the headset's state was restored from a copy: the cloud has newer reports.
      const acked = BigInt(stage.cloud.nowMs() + 86_400_000);
      stage.cloud.welcome(next, acked);
      await untilTold(next, 'b');
      must(texts(next).join('') === 'ab', `reported in the order ${texts(next)}`);
      for (const id of idsOf(next)) must(id > acked, `a new report bears ${id}; ${acked} is acknowledged`);
    },
  },
  {
    id: 'reports/size',
    sentence:
      'Cut texts and lists to their limits before storing a report; a report over 256 KiB is never stored.',
    prove: async (stage) => {
      const link = await stage.begin();
      const long = '長'.repeat(100_000);
      tell(stage, long);
      const { value } = await link.until('the report of a long text', () => link.reportsOf('customData')[0]);
      const { length } = value.customData;
      must(length <= 65_536, `a text of ${length} characters came, not of 65536`);
      must(length > 0 && long.startsWith(value.customData), 'the text is another one');
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
      const first = await firstTold(next);
      must(first === ids[2], `report ${first} came first, ${ids[2]} is the oldest kept`);
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
      const first = await firstTold(next);
      must(first === ids[2], `report ${first} came first, ${ids[2]} is the oldest kept`);
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
      await untilTold(next, 'c');
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
      for (const text of all) tell(stage, text);
      // A request for an address needs no ack, and shows that the headset knows the texts before it.
      const file = `${firstApplication}/${stage.imei}/upload_files/after.bin`;
      stage.client.tell({ action: 'upload', file, sizeBytes: 1 });
      await link.until('the request for an address', () => link.urlRequests.length > 0);
      await stage.readyFence(link);
      const inFlight = link.reports.filter(({ reportId }) => reportId > link.ackedReportId).length;
      must(inFlight <= 256, `${inFlight} reports without an ack`);
      stage.cloud.acknowledges = true;
      link.ack(link.reports.at(-1)?.reportId ?? 0n);
      await untilTold(link, 'text 299');
      must(String(texts(link)) === String(all), 'a report is missing or came twice');
    },
  },
  {
    id: 'reports/kept-while-offline',
    sentence: 'the headset keeps every report until report_ack covers it',
    prove: async (stage) => {
      const link = await stage.begin();
      link.cut();
      const waiting = await stage.cloud.greeted();
      for (const text of ['a', 'b']) tell(stage, text);
      // When the headset answers on the stream, it has read its standard input.
      stage.cloud.welcome(waiting);
      await untilTold(waiting, 'b');
      stage.cloud.acknowledges = false;
      tell(stage, 'c');
      await untilTold(waiting, 'c');
      const next = await stage.afterKill();
      await untilTold(next, 'c');
    },
  },
  {
    id: 'reports/epoch',
    sentence: 'the taken epoch when it happened, not when it is sent; it is never rewritten',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      stage.cloud.acknowledges = false;
      tell(stage, 'before');
      const before = await untilTold(link, 'before');
      await link.run(stage.id(), activate(secondApplication), { epoch: 4n });
      tell(stage, 'after');
      const after = await untilTold(link, 'after');
      must(
        before.report.activationEpoch === 3n,
        `the first bears epoch ${before.report.activationEpoch}, not 3`,
      );
      must(
        after.report.activationEpoch === 4n,
        `the second bears epoch ${after.report.activationEpoch}, not 4`,
      );
      const next = await stage.afterKill();
      const again = (await untilTold(next, 'before')).report.activationEpoch;
      must(again === 3n, `sent again, the first bears epoch ${again}, not 3`);
    },
  },
  {
    id: 'reports/taken-epoch',
    sentence:
      'An offer alone does not raise it, nor does work of another kind … So reports and uploads bear the taken epoch. Those that are stored with a change (the snapshot, the result) bear the new one',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const next = stage.id();
      link.offer(next, activate(secondApplication), { epoch: 5n });
      await link.ready(next);
      await formersBear(stage, link, 'former');
      const last = await stage.afterKill();
      must(last.hello.activationEpoch === 5n, `hello bears epoch ${last.hello.activationEpoch}, not 5`);
      await formersBear(stage, last, 'former, after a kill');
      last.start(next);
      const { report } = await last.result(next);
      must(report.activationEpoch === 5n, `the result bears epoch ${report.activationEpoch}, not 5`);
      tell(stage, 'next');
      const own = (await untilTold(last, 'next')).report.activationEpoch;
      must(own === 5n, `what came after the activation bears epoch ${own}, not 5`);
    },
  },
];
