import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable, NotTested } from '../verdict.ts';

/** Delay of a welcome; a client waits 10 s for it. Milliseconds. */
const welcomeDelayMs = 6000;
/** Maximum error of a date: more than a slow machine needs, less than the delay of the welcome; milliseconds. */
const toleranceMs = 3000;
/** Clock offset at which the client still signs valid tokens; milliseconds. */
const aheadMs = 40_000;
const unavailable = 14;
/** Number of requested reports between two connections, so that one is older than the second connection. */
const tries = 5;

/** Sends a welcome whose server time is the time of the stream's opening. */
async function welcomeLate(stage: Stage, link: Link): Promise<void> {
  const atMs = Math.round(stage.cloud.nowMs() - (performance.now() - link.openedMs));
  await link.until('hello', () => link.messages.length > 0);
  stage.exchange.note(`the welcome is delayed by ${welcomeDelayMs} ms`);
  await new Promise((resolve) => setTimeout(resolve, welcomeDelayMs));
  stage.cloud.welcome(link, 0n, atMs);
  // The answer proves that the headset has handled the welcome.
  await stage.readyFence(link);
}

/** Verifies that a new report has the cloud's current time. */
async function mustDateNow(stage: Stage, link: Link, text: string): Promise<void> {
  const sinceMs = stage.cloud.nowMs();
  const { report } = await reportNow(stage, link, text);
  const at = Number(report.occurredAtMs);
  const early = sinceMs - at;
  must(early < toleranceMs, `a report is dated ${early} ms before its request`);
  const late = at - stage.cloud.nowMs();
  must(late < toleranceMs, `a report is dated ${late} ms after its arrival`);
}

function requestReport(stage: Stage, text: string): void {
  stage.client.request({ action: 'report', customData: { success: true, customData: text } });
}

async function reportNow(stage: Stage, link: Link, text: string) {
  requestReport(stage, text);
  return await arrived(link, text);
}

async function arrived(link: Link, text: string) {
  return await link.until(`the report "${text}"`, () =>
    link.reportsOf('customData').find(({ value }) => value.customData === text),
  );
}

/** Rules about the clock after a delayed welcome, and about the report counter after a restart. */
export const clock: readonly Rule[] = [
  {
    id: 'session/clock-under-way',
    sentence:
      "if your corrected time, when the answer arrives, lies between the server's time and the server's time plus the time since the opening, keep your correction; else correct to the nearer of the two",
    seconds: 14,
    prove: async (stage) => {
      const link = await stage.connect();
      await welcomeLate(stage, link);
      await mustDateNow(stage, link, 'with a correct clock');
      link.cut();
      // The client's clock is ahead of the cloud's clock, so the later bound is nearer.
      stage.cloud.clockOffsetMs = -aheadMs;
      const next = await stage.cloud.greeted();
      await welcomeLate(stage, next);
      await mustDateNow(stage, next, 'with a clock that was ahead');
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
        requestReport(stage, `unnumbered ${n}`);
        refused.end(unavailable, 'full', { 'x-retry-after-ms': '1500' });
        link = await stage.cloud.online(1500);
        const { report } = await arrived(link, `unnumbered ${n}`);
        // Both are times of the client's uncorrected clock.
        if (report.occurredAtMs >= link.hello.clockMs) continue;
        const { lastReportId } = link.hello;
        must(
          lastReportId === undefined,
          `last_report_id is ${lastReportId}, although report ${report.reportId} was stored with a provisional id`,
        );
        return;
      }
      throw new NotTested('The kit requested a report before hello, but the client created it afterwards.');
    },
  },
];
