import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable } from '../verdict.ts';
import { heldOf, mustHold } from './offers.ts';

/** A session of a client that knows revoke. */
async function knowing(stage: Stage): Promise<Link> {
  const link = await stage.begin();
  if (!link.hello.knowsRevoke) throw new NotApplicable('hello does not set knows_revoke');
  return link;
}

/** How many reports on this stream say that a transaction is revoked. */
function revocations(link: Link, id: bigint): number {
  return link.reportsOf('revoked').filter(({ value }) => value.transactionId === id).length;
}

export const revoke: readonly Rule[] = [
  {
    id: 'revoke/offered',
    sentence: 'revoke, OFFERED: forget it, and answer by a durable report revoked.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      link.revoke(id);
      await link.revoked(id);
      link.start(id);
      await stage.fence(link);
      must(stage.effects(id) === 0, 'a revoked transaction took effect');
    },
  },
  {
    id: 'revoke/started',
    sentence:
      'revoke, STARTED and its effect not begun: FINISHED as revoked and the report, in one step; never begin it.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = await stage.startHeldUpdate(link);
      link.revoke(id);
      await link.revoked(id);
      stage.files.release();
      await link.run(stage.id(), stage.update());
      must(stage.effects(id) === 0, 'a revoked update was installed');
      const results = link.reportsOf('result').filter(({ value }) => value.transactionId === id);
      must(results.length === 0, 'a revoked transaction has a result');
    },
  },
  {
    id: 'revoke/queued',
    sentence: 'revoke, STARTED and waiting in the queue: its effect has not begun; never begin it.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const first = await stage.startHeldUpdate(link);
      const id = stage.id();
      link.offer(id, stage.update());
      await link.ready(id);
      link.start(id);
      link.revoke(id);
      await link.revoked(id);
      stage.files.release();
      must((await link.result(first)).value.success, 'the update before it failed');
      await stage.fence(link);
      must(stage.effects(id) === 0, 'a revoked update was installed');
    },
  },
  {
    id: 'revoke/interrupted',
    sentence: 'revoke, STARTED and interrupted by a restart, the effect found not to have happened: revoked.',
    prove: async (stage) => {
      const id = await stage.startHeldUpdate(await knowing(stage));
      const next = await stage.afterKill();
      mustHold(stage, next, { [String(id)]: 'STARTED' });
      stage.files.release();
      next.revoke(id);
      await next.revoked(id);
      next.start(id);
      await stage.fence(next);
      must(stage.effects(id) === 0, 'a revoked update was installed');
    },
  },
  {
    id: 'revoke/durable',
    sentence: 'Having revoked, it is held as FINISHED until the report is acknowledged, over restarts too.',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await knowing(stage);
      const id = await stage.startHeldUpdate(link);
      link.revoke(id);
      const { report } = await link.revoked(id);
      const next = await stage.afterKill();
      stage.files.release();
      mustHold(stage, next, { [String(id)]: 'FINISHED' });
      const again = await next.revoked(id);
      must(
        again.report.reportId === report.reportId,
        `revoked came again as report ${again.report.reportId}`,
      );
      next.ack(report.reportId);
      await stage.readyFence(next);
      const last = await stage.afterKill();
      must(!heldOf(stage, last).includes(String(id)), 'it is held after its report was acknowledged');
      must(stage.effects(id) === 0, 'a revoked update was installed');
    },
  },
  {
    id: 'revoke/ignores-start',
    sentence:
      'Having revoked, it ignores a later start of that id and repeats its answer under a new report id.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = await stage.startHeldUpdate(link);
      link.revoke(id);
      const { report } = await link.revoked(id);
      await stage.readyFence(link);
      const next = await stage.afterKill();
      stage.files.release();
      next.start(id);
      await next.revoked(id, report.reportId);
      await stage.fence(next);
      must(stage.effects(id) === 0, 'a revoked update was installed');
    },
  },
  {
    id: 'revoke/offered-again',
    sentence: 'Having revoked, an offer of it gets ready.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      link.revoke(id);
      const { report } = await link.revoked(id);
      await stage.readyFence(link);
      const next = await stage.afterCut(link);
      next.offer(id, stage.command());
      await next.ready(id);
      next.start(id);
      await next.revoked(id, report.reportId);
      await stage.fence(next);
      must(stage.effects(id) === 0, 'a revoked transaction took effect');
    },
  },
  {
    id: 'revoke/finished',
    sentence: 'revoke, FINISHED: nothing, its report is on its way.',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await knowing(stage);
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      link.revoke(id);
      await stage.fence(link);
      must(revocations(link, id) === 0, 'what took effect was reported as revoked');
      const next = await stage.afterKill();
      must((await next.result(id)).report.reportId === report.reportId, 'its result is another report now');
    },
  },
  {
    id: 'revoke/remembered',
    sentence: 'revoke, remembered as done: report the remembered outcome again under a new report id.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      await stage.readyFence(link);
      const next = await stage.afterKill();
      next.revoke(id);
      await next.result(id, report.reportId);
      must(revocations(next, id) === 0, 'what took effect was reported as revoked');
    },
  },
  {
    id: 'revoke/unknown',
    sentence: 'revoke, unknown: report revoked (it holds nothing, and never will act on it) and remember it.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = stage.id();
      link.revoke(id);
      const { report } = await link.revoked(id);
      await stage.readyFence(link);
      const next = await stage.afterKill();
      next.offer(id, stage.command());
      await next.ready(id);
      next.start(id);
      await next.revoked(id, report.reportId);
      must(stage.effects(id) === 0, 'a revoked transaction took effect');
    },
  },
  {
    id: 'revoke/crossing',
    sentence:
      'revoke, STARTED: where the effect has begun or is done, the result is the answer; else revoked. Never both.',
    prove: async (stage) => {
      const link = await knowing(stage);
      const ids = Array.from({ length: 20 }, () => stage.id());
      for (const id of ids) {
        link.offer(id, stage.command());
        await link.ready(id);
        link.start(id);
        link.revoke(id);
      }
      for (const id of ids) {
        await link.until(`the answer to the revoke of ${id}`, () =>
          link.reports.some(
            ({ body }) =>
              (body.case === 'result' || body.case === 'revoked') && body.value.transactionId === id,
          ),
        );
      }
      await stage.fence(link);
      for (const id of ids) {
        const results = link.reportsOf('result').some(({ value }) => value.transactionId === id);
        const [effects, revoked] = [stage.effects(id), revocations(link, id)];
        const right = results ? effects === 1 && revoked === 0 : effects === 0;
        must(right, `${id} has ${effects} effects, ${revoked} revoked, and a result: ${results}`);
      }
    },
  },
];
