import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link, OperationKind } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable } from '../verdict.ts';

const sentence =
  'Before an effect, STARTED is stored; after it, the result. … find out, when it starts again, whether the effect took place';

/** Package of an app that never returns from a call; see README.md. */
const endlessPackage = 'com.example.conformance.endless';

/** Handles the held transactions of a hello like the platform, until the transaction has its result. */
async function continueUntilResult(stage: Stage, link: Link, id: bigint, kind: OperationKind) {
  const state = link.hello.held.find((held) => held.transactionId === id)?.state;
  if (state === HeldState.STARTED) link.start(id);
  if (state !== HeldState.STARTED && state !== HeldState.FINISHED) {
    link.offer(id, kind);
    await link.ready(id);
    link.start(id);
  }
  const { value } = await link.result(id);
  await stage.fence(link);
  return value;
}

/** Returns a rule that kills the client at a given moment, several times with different transactions. */
function killedAt(
  moment: string,
  rounds: number,
  reach: (stage: Stage, link: Link, id: bigint, round: number) => Promise<void>,
): Rule {
  return {
    id: `once/killed-${moment}`,
    sentence,
    prove: async (stage) => {
      let link = await stage.begin();
      for (let round = 0; round < rounds; round += 1) {
        const id = stage.id();
        const kind: OperationKind =
          round % 2 === 0
            ? stage.command()
            : { case: 'applyLanguages', value: { languages: round % 4 === 1 ? ['en', 'ja'] : ['ja'] } };
        link.offer(id, kind);
        // The transaction must still be held after the kill, even if the client is fast.
        stage.cloud.acknowledges = false;
        await reach(stage, link, id, round);
        await stage.client.kill();
        stage.cloud.acknowledges = true;
        link = await stage.afterKill();
        const result = await continueUntilResult(stage, link, id, kind);
        const effects = stage.effects(id);
        // An interrupted call may or may not have happened, and is reported as a failure.
        const right = effects === 1 || (effects === 0 && !result.success);
        must(right, `${kind.case} ${id} has ${effects} effects and success ${result.success}`);
      }
    },
  };
}

export const once: readonly Rule[] = [
  killedAt('before-start', 3, async (_, link, id, round) => {
    if (round > 0) await link.ready(id);
  }),
  killedAt('at-start', 4, async (stage, link, id, round) => {
    await link.ready(id);
    link.start(id);
    // Kill at different moments of the work, at the last one after its effect.
    if (round === 3) await stage.effect(id);
    else await new Promise((resolve) => setTimeout(resolve, round * 2));
  }),
  killedAt('at-effect', 2, async (stage, link, id) => {
    await link.ready(id);
    link.start(id);
    await stage.effect(id);
  }),
  {
    id: 'once/interrupted-call',
    sentence:
      'After a restart, a started command that has a record is not called again. … the call has not returned: success false with The call was interrupted.',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command({ package: endlessPackage }));
      await link.ready(id);
      link.start(id);
      const ended = () => link.reportsOf('result').some(({ value }) => value.transactionId === id);
      await link.until('the call of an app that does not return', () => stage.effects(id) > 0 || ended());
      if (ended()) throw new NotApplicable(`the client has no app ${endlessPackage} that never returns`);
      const next = await stage.afterKill();
      const held = next.hello.held.find(({ transactionId }) => transactionId === id);
      if (held?.state === HeldState.STARTED) next.start(id);
      const { value } = await next.result(id);
      must(!value.success, 'an interrupted call was reported as a success');
      const message = 'The call was interrupted.';
      must(value.message === message, `the message is "${value.message}", not "${message}"`);
      await stage.fence(next);
      must(stage.effects(id) === 1, `the app was called ${stage.effects(id)} times`);
    },
  },
  {
    id: 'once/killed-at-result',
    sentence: 'the headset remembers the ids that are done',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      const next = await stage.afterKill();
      const again = await next.result(id);
      must(
        again.report.reportId === report.reportId,
        `the result was repeated as report ${again.report.reportId}`,
      );
      // Like the cloud after a crash: repeat the offer of an ended transaction.
      next.offer(id, stage.command());
      await next.ready(id);
      next.start(id);
      await stage.fence(next);
      must(stage.effects(id) === 1, `${stage.effects(id)} effects of one transaction`);
    },
  },
  {
    id: 'once/remembered',
    sentence:
      'Ids that are done, with their outcome (the result, or revoked), are remembered for at least 30 days or the last 10,000, whichever is more.',
    prove: async (stage) => {
      const link = await stage.begin();
      const ids = Array.from({ length: 20 }, () => stage.id());
      for (const id of ids) await link.run(id, stage.command());
      await stage.readyFence(link);
      const next = await stage.afterKill();
      for (const id of ids) {
        const last = next.reports.at(-1)?.reportId ?? 0n;
        next.offer(id, stage.command());
        await next.ready(id);
        next.start(id);
        await next.result(id, last);
      }
      for (const id of ids) must(stage.effects(id) === 1, `${stage.effects(id)} effects of ${id}`);
    },
  },
];
