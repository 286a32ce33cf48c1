import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable } from '../verdict.ts';
import { heldOf, mustHold } from './offers.ts';

/** Begins a session. Throws NotApplicable if the client does not support revoke. */
async function knowing(stage: Stage): Promise<Link> {
  const link = await stage.begin();
  if (!link.hello.knowsRevoke) throw new NotApplicable('hello does not set knows_revoke');
  return link;
}

/** Returns the number of `revoked` reports of a transaction on this stream. */
function revocations(link: Link, id: bigint): number {
  return link.reportsOf('revoked').filter(({ value }) => value.transactionId === id).length;
}

export const revoke: readonly Rule[] = [
  {
    id: 'revoke/offered',
    sentence:
      'store in one step FINISHED as revoked and the report revoked; delete its parts; send the report',
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
    sentence: 'stop it, R … when the installation begins',
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
    sentence: 'so before it, this can be given up … waiting, loading, checking',
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
    sentence: 'The effect of an interrupted transaction has begun if the headset finds that it took place.',
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
    sentence: 'FINISHED until its report is acknowledged, as everything else',
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
        `revoked was repeated as report ${again.report.reportId}`,
      );
      next.ack(report.reportId);
      await stage.readyFence(next);
      const last = await stage.afterKill();
      must(
        !heldOf(stage, last).includes(String(id)),
        'the transaction is held after its report was acknowledged',
      );
      must(stage.effects(id) === 0, 'a revoked update was installed');
    },
  },
  {
    id: 'revoke/ignores-start',
    sentence: 'Having revoked, the headset never does that work, whatever comes later.',
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
    sentence: 'That end is the result with which it ended, or revoked.',
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
    sentence: 'nothing: the report is on its way',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await knowing(stage);
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      link.revoke(id);
      await stage.fence(link);
      must(revocations(link, id) === 0, 'a transaction that took effect was reported as revoked');
      const next = await stage.afterKill();
      must(
        (await next.result(id)).report.reportId === report.reportId,
        'the repeated result is another report',
      );
    },
  },
  {
    id: 'revoke/remembered',
    sentence: 'report that end again, with a new report id',
    prove: async (stage) => {
      const link = await knowing(stage);
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      await stage.readyFence(link);
      const next = await stage.afterKill();
      next.revoke(id);
      await next.result(id, report.reportId);
      must(revocations(next, id) === 0, 'a transaction that took effect was reported as revoked');
    },
  },
  {
    id: 'revoke/unknown',
    sentence: 'R, although nothing is known of it',
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
    sentence: 'nothing: it ends, its result is the answer',
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
