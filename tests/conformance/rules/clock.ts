import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable, NotJudged } from '../verdict.ts';

/** How long a welcome is under way; a client waits 10 s for it. */
const underWayMs = 6000;
/** How far off a date may be; more than the network and a slow machine need, less than the welcome's way. */
const accurateMs = 3000;
/** A client's clock that is so far ahead still signs good tokens. */
const aheadMs = 40_000;
const unavailable = 14;
/** How often a report is made between two connections, until one is surely older than the second. */
const tries = 5;

/** Sends a welcome that has been under way since the stream was opened. */
async function welcomeLate(stage: Stage, link: Link): Promise<void> {
  const atMs = Math.round(stage.cloud.nowMs() - (performance.now() - link.openedMs));
  await link.until('hello', () => link.messages.length > 0);
  stage.exchange.note(`the welcome is under way for ${underWayMs} ms`);
  await new Promise((resolve) => setTimeout(resolve, underWayMs));
  stage.cloud.welcome(link, 0n, atMs);
  // When this is answered, the headset has handled the welcome.
  await stage.readyFence(link);
}

/** A report that is made now must bear the cloud's time. */
async function datesNow(stage: Stage, link: Link, text: string): Promise<void> {
  const sinceMs = stage.cloud.nowMs();
  const { report } = await told(stage, link, text);
  const at = Number(report.occurredAtMs);
  const early = sinceMs - at;
  must(early < accurateMs, `a report is dated ${early} ms before it was made`);
  const late = at - stage.cloud.nowMs();
  must(late < accurateMs, `a report is dated ${late} ms after it came`);
}

function tell(stage: Stage, text: string): void {
  stage.client.tell({ action: 'report', customData: { success: true, customData: text } });
}

async function told(stage: Stage, link: Link, text: string) {
  tell(stage, text);
  return await arrived(link, text);
}

async function arrived(link: Link, text: string) {
  return await link.until(`the report "${text}"`, () =>
    link.reportsOf('customData').find(({ value }) => value.customData === text),
  );
}

/** What the connection's delay and a client's restart mean for its clock and its counter. */
export const clock: readonly Rule[] = [
  {
    id: 'session/clock-under-way',
    sentence:
      "if your corrected time, when the answer arrives, lies between the server's time and the server's time plus the time since the opening, keep your correction; else correct to the nearer of the two",
    seconds: 14,
    prove: async (stage) => {
      const link = await stage.connect();
      await welcomeLate(stage, link);
      await datesNow(stage, link, 'with a right clock');
      link.cut();
      // Now the client's clock is ahead of the cloud's: the later bound is nearer.
      stage.cloud.clockOffsetMs = -aheadMs;
      const next = await stage.cloud.greeted();
      await welcomeLate(stage, next);
      await datesNow(stage, next, 'with a clock that was ahead');
    },
  },
  {
    id: 'session/unnumbered',
    sentence: 'Leave it out while reports without a number are kept: they are older, but get higher ids.',
    prove: async (stage) => {
      let link = await stage.afterCut(await stage.begin());
      if (link.hello.lastReportId === undefined) throw new NotApplicable('hello does not set last_report_id');
      await stage.fence(link);
      for (let n = 0; n < tries; n += 1) {
        await stage.readyFence(link);
        await stage.client.restart();
        const refused = await stage.cloud.greeted(60_000);
        tell(stage, `unnumbered ${n}`);
        refused.end(unavailable, 'full', { 'x-retry-after-ms': '1500' });
        link = await stage.cloud.online(1500);
        const { report } = await arrived(link, `unnumbered ${n}`);
        // Both are times of the client's own clock, which had no correction yet.
        if (report.occurredAtMs >= link.hello.clockMs) continue;
        const { lastReportId } = link.hello;
        must(
          lastReportId === undefined,
          `last_report_id is ${lastReportId}, although report ${report.reportId} was kept without a number`,
        );
        return;
      }
      throw new NotJudged('The client was told to report before its hello, and did so only afterwards.');
    },
  },
];
