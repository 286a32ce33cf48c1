import type { Rule } from '../rule.ts';
import { must } from '../verdict.ts';
import { heldOf, mustHold } from './offers.ts';

export const drop: readonly Rule[] = [
  {
    id: 'drop/offered',
    sentence: 'forget it and its parts; do not start it',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      link.drop(id);
      link.start(id);
      await stage.fence(link);
      must(stage.effects(id) === 0, 'a dropped transaction took effect');
      mustHold(stage, await stage.afterKill(), {});
    },
  },
  {
    id: 'drop/again',
    sentence: 'do not start it, unless a later session offers it again',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command());
      await link.ready(id);
      link.drop(id);
      await stage.readyFence(link);
      const next = await stage.afterCut(link);
      mustHold(stage, next, {});
      await next.run(id, stage.command());
      must(stage.effects(id) === 1, `after another offer there are ${stage.effects(id)} effects`);
    },
  },
  {
    id: 'drop/started',
    sentence: 'stop it, forget, delete parts',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      link.drop(id);
      await stage.readyFence(link);
      stage.files.release();
      const next = stage.id();
      await link.run(next, stage.update());
      must(stage.effects(next) === 1 && stage.effects(id) === 0, 'a dropped update was installed');
      must(!heldOf(stage, await stage.afterKill()).includes(String(id)), 'a dropped update is held');
    },
  },
  {
    id: 'drop/interrupted',
    sentence:
      'STARTED, interrupted by a restart, no effect yet | store its content again, ready | work in its turn | forget, delete parts',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      const next = await stage.afterKill();
      stage.files.release();
      next.drop(id);
      next.start(id);
      await stage.fence(next);
      must(stage.effects(id) === 0, 'a dropped update was installed');
      mustHold(stage, await stage.afterCut(next), {});
    },
  },
  {
    id: 'drop/finished',
    sentence: 'nothing: the report is kept',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      link.drop(id);
      await stage.readyFence(link);
      const next = await stage.afterKill();
      mustHold(stage, next, { [String(id)]: 'FINISHED' });
      const again = await next.result(id);
      must(again.report.reportId === report.reportId, 'the result was repeated with another id');
    },
  },
];
