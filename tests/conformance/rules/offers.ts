import { HeldStateSchema, type Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link, OperationKind } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';

const always = 'store it, then answer ready; always, whatever the state';

type HeldName = 'OFFERED' | 'STARTED' | 'FINISHED';

/** Returns the held list of a hello as text, in the order of ids, without the kit's fences. */
export function heldOf(stage: Stage, link: Link): string {
  return link.hello.held
    .filter(({ transactionId }) => !stage.fences.has(transactionId))
    .sort((a, b) => (a.transactionId < b.transactionId ? -1 : 1))
    .map(({ transactionId, state }) => `${transactionId} ${HeldStateSchema.value[state]?.localName}`)
    .join(', ');
}

export function mustHold(stage: Stage, link: Link, held: Readonly<Record<string, HeldName>>): void {
  const expected = Object.entries(held)
    .map(([id, state]) => `${id} ${state}`)
    .join(', ');
  const found = heldOf(stage, link);
  must(found === expected, `hello holds [${found}], not [${expected}]`);
}

/** Returns a rule: a repeated offer of a transaction in this state is answered, also in a new session. */
function readyIn(
  state: string,
  bring: (stage: Stage, link: Link, kind: OperationKind) => Promise<bigint>,
): Rule {
  return {
    id: `offers/ready-when-${state}`,
    sentence: always,
    prove: async (stage) => {
      const link = await stage.begin();
      const kind = state === 'started' ? stage.update() : stage.command();
      const id = await bring(stage, link, kind);
      const before = link.readies.filter((ready) => ready === id).length;
      const effects = stage.effects(id);
      link.offer(id, kind);
      await link.ready(id, before + 1);
      const next = await stage.afterCut(link);
      next.offer(id, kind);
      await next.ready(id);
      must(stage.effects(id) === effects, 'an offer alone had an effect');
    },
  };
}

export const offers: readonly Rule[] = [
  readyIn('unknown', async (stage) => stage.id()),
  readyIn('offered', async (stage, link, kind) => {
    const id = stage.id();
    link.offer(id, kind);
    await link.ready(id);
    return id;
  }),
  readyIn('started', (stage, link, kind) => stage.startHeldUpdate(link, kind)),
  readyIn('finished', async (stage, link, kind) => {
    stage.cloud.acknowledges = false;
    const id = stage.id();
    await link.run(id, kind);
    return id;
  }),
  readyIn('remembered', async (stage, link, kind) => {
    const id = stage.id();
    await link.run(id, kind);
    // The acknowledgement was sent before this offer, so the headset has handled it.
    await stage.readyFence(link);
    return id;
  }),
  {
    id: 'offers/no-start-no-effect',
    sentence: 'nothing starts without start',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      await stage.fence(link);
      must(stage.effects(id) === 0, 'an offer alone had an effect');
      const next = await stage.afterKill();
      mustHold(stage, next, { [String(id)]: 'OFFERED' });
      await stage.fence(next);
      must(stage.effects(id) === 0, 'an offer alone had an effect after a restart');
      await next.run(id, stage.command());
      must(stage.effects(id) === 1, `after start there are ${stage.effects(id)} effects`);
    },
  },
  {
    id: 'offers/start-of-unknown',
    sentence: 'unknown | store as OFFERED, ready | nothing',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.start(id);
      await stage.fence(link);
      const hasResult = link.reports.some(
        ({ body }) => body.case === 'result' && body.value.transactionId === id,
      );
      must(!hasResult && stage.effects(id) === 0, 'a start without an offer had an effect');
      const next = await stage.afterCut(link);
      mustHold(stage, next, {});
    },
  },
  {
    id: 'offers/order',
    sentence: 'Work on the started ones one after the other, in the order in which their starts came',
    prove: async (stage) => {
      const link = await stage.begin();
      const [a, b, c, d] = [stage.id(), stage.id(), stage.id(), stage.id()];
      const ids = [d, b, c, a];
      for (const id of ids) link.offer(id, stage.command());
      for (const id of ids) await link.ready(id);
      for (const id of ids) link.start(id);
      for (const id of ids) await link.result(id);
      const effects = stage.client.effects().map(({ transactionId }) => transactionId);
      must(String(effects) === String(ids), `started ${ids}, took effect ${effects}`);
      const results = link.reportsOf('result').map(({ value }) => value.transactionId);
      must(String(results) === String(ids), `started ${ids}, results ${results}`);
    },
  },
  {
    id: 'offers/only-loads-overtaken',
    sentence: 'nothing overtakes a command, a setting or a query, whatever that waits for',
    prove: async (stage) => {
      const link = await stage.begin();
      // The command is for the package of the update, so it waits for the download.
      const ids = [await stage.startHeldUpdate(link), stage.id(), stage.id()] as const;
      const [, command, setting] = ids;
      link.offer(command, stage.command());
      link.offer(setting, { case: 'applyLanguages', value: { languages: ['eo'] } });
      for (const id of [command, setting]) await link.ready(id);
      for (const id of [command, setting]) link.start(id);
      await stage.readyFence(link);
      stage.files.release();
      for (const id of ids) must((await link.result(id)).value.success, `${id} failed`);
      const order = stage.client.effects().map(({ transactionId }) => transactionId);
      must(String(order) === String(ids), `started ${ids}, took effect ${order}`);
    },
  },
  {
    id: 'offers/start-repeated',
    sentence:
      'STARTED, waits for its turn or loads | store its content again, ready | nothing … nothing: the report is on its way',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      for (let i = 0; i < 3; i += 1) link.start(id);
      await link.result(id);
      link.start(id);
      await stage.fence(link);
      must(stage.effects(id) === 1, `${stage.effects(id)} effects of one transaction`);
      const results = link.reportsOf('result').filter(({ value }) => value.transactionId === id);
      must(results.length === 1, `${results.length} results of one transaction that is not acknowledged`);
    },
  },
  {
    id: 'offers/start-of-remembered',
    sentence:
      'report that end again, with a new report id … It has the same activation_epoch and occurred_at_ms as the first time.',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const first = await link.run(id, stage.command());
      // The headset learns a newer epoch. The repeated end still belongs to the former epoch.
      await stage.fence(link, 2n);
      link.start(id);
      const again = await link.result(id, first.report.reportId);
      must(again.value.success === first.value.success, 'the outcome is different');
      const ended = ({ occurredAtMs, activationEpoch }: Report) =>
        `${occurredAtMs} of epoch ${activationEpoch}`;
      const [reported, reportedAgain] = [ended(first.report), ended(again.report)];
      must(
        reported === reportedAgain,
        `it ended at ${reported}, but the repeated end is at ${reportedAgain}`,
      );
      const next = await stage.afterKill();
      next.start(id);
      const third = await next.result(id, again.report.reportId);
      must(third.value.success === first.value.success, 'the outcome is different after a restart');
      await stage.fence(next, 2n);
      must(stage.effects(id) === 1, `${stage.effects(id)} effects of one transaction`);
    },
  },
  {
    id: 'offers/held',
    sentence: 'held, every transaction that is OFFERED, STARTED or FINISHED, with its state',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      const finished = stage.id();
      const { report } = await link.run(finished, stage.command());
      const offered = stage.id();
      link.offer(offered, stage.command());
      await link.ready(offered);
      const started = await stage.startHeldUpdate(link);
      const held = {
        ...{ [String(finished)]: 'FINISHED' as const, [String(offered)]: 'OFFERED' as const },
        [String(started)]: 'STARTED' as const,
      };
      mustHold(stage, await stage.afterCut(link), held);
      const next = await stage.afterKill();
      mustHold(stage, next, held);
      await next.result(finished);
      next.ack(report.reportId);
      await stage.readyFence(next);
      const last = await stage.afterKill();
      must(
        !heldOf(stage, last).includes(String(finished)),
        `${finished} is held after its result was acknowledged`,
      );
    },
  },
  {
    id: 'offers/start-without-offer',
    sentence: 'one that is STARTED gets start again, without an offer',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      const next = await stage.afterKill();
      mustHold(stage, next, { [String(id)]: 'STARTED' });
      stage.files.release();
      next.start(id);
      const { value } = await next.result(id);
      must(
        value.success && stage.effects(id) === 1,
        `success ${value.success}, ${stage.effects(id)} effects`,
      );
    },
  },
  {
    id: 'offers/interrupted-waits',
    sentence:
      'keep STARTED, interrupted, with its parts, and wait for the start, drop or revoke of the next session; do not begin without a start',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      await stage.client.kill();
      stage.files.release();
      stage.client.start();
      const next = await stage.cloud.online();
      await stage.fence(next);
      must(stage.effects(id) === 0, 'the transaction began after a restart without a start');
      mustHold(stage, await stage.afterCut(next), { [String(id)]: 'STARTED' });
    },
  },
];
