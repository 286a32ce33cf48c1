import type { Rule } from '../rule.ts';
import { must } from '../verdict.ts';
import { list, start } from './loads.ts';
import { mustHold } from './offers.ts';

export const updates: readonly Rule[] = [
  {
    id: 'updates/installs',
    sentence:
      'Load with plain HTTP GET, without any header of authorization … Report the inventory, then the result',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const update = stage.update();
      const { report, value } = await link.run(id, update);
      must(
        value.success && stage.effects(id) === 1,
        `success ${value.success}, ${stage.effects(id)} effects`,
      );
      const [request] = link.urlRequests;
      must(request?.about.case === 'downloadTicket', 'no request with a ticket');
      const ticket = Buffer.from(request.about.value).toString();
      must(ticket === 'ticket', `the ticket is "${ticket}", not the offer's`);
      const [get] = stage.files.of('GET');
      must(get?.headers.authorization === undefined, 'the GET has an authorization header');
      const inventory = link.reportsOf('inventory').find((i) => i.report.reportId < report.reportId);
      must(inventory, 'no inventory came before the result');
      const reported = inventory.value.apps.find((app) => app.package === update.value.package)?.version;
      must(reported === update.value.version, `the inventory has version ${reported}`);
    },
  },
  {
    id: 'updates/resumed-after-kill',
    sentence:
      'after a restart of the headset it continues, from its part, with the start of the next session',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      let next = link;
      // A kill may come before the client has stored bytes. Each further round gives the client more time.
      for (let round = 0; round < 6 && !stage.files.of('GET').some(({ from }) => from > 0); round += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** round));
        const before = stage.files.of('GET').length;
        next = await stage.afterKill();
        next.start(id);
        await next.until('the load to continue', () => stage.files.of('GET').length > before);
      }
      stage.files.release();
      const { value } = await next.result(id);
      must(
        value.success && stage.effects(id) === 1,
        `success ${value.success}, ${stage.effects(id)} effects`,
      );
      const gets = stage.files.of('GET');
      must(
        gets.some(({ from }) => from > 0),
        `the GETs began at ${list(gets)}`,
      );
    },
  },
  {
    id: 'updates/same-package-waits',
    sentence:
      'except in two cases: … both are for the same package: the later one is an update_app, an uninstall or a command with the package of the update',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), stage.update());
      const update = stage.update();
      const id = await stage.startHeldUpdate(link, update);
      const removal = stage.id();
      await start(link, removal, { case: 'uninstall', value: { package: update.value.package } });
      await stage.readyFence(link);
      stage.files.release();
      for (const one of [id, removal]) must((await link.result(one)).value.success, `${one} failed`);
      const order = stage.client.effects().map(({ transactionId }) => transactionId);
      must(order.indexOf(id) < order.indexOf(removal), `the uninstallation overtook the update: ${order}`);
    },
  },
  {
    id: 'updates/same-version',
    sentence:
      'without that record it did not take effect, whatever version is installed, since an equal version may be installed again',
    prove: async (stage) => {
      const link = await stage.begin();
      const update = stage.update();
      must((await link.run(stage.id(), update)).value.success, 'the first installation failed');
      const id = await stage.startHeldUpdate(link, update);
      stage.cloud.acknowledges = false;
      const next = await stage.afterKill();
      mustHold(stage, next, { [String(id)]: 'STARTED' });
      stage.cloud.acknowledges = true;
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
    id: 'updates/progress',
    sentence: 'every 10 s, also while nothing moves, a progress report … After the end none is sent.',
    seconds: 25,
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      const progress = () => link.reportsOf('progress').filter(({ value }) => value.transactionId === id);
      await link.until('the first progress report', () => progress().length >= 1, 12_000);
      await link.until('the second progress report', () => progress().length >= 2, 12_000);
      stage.files.release();
      const { report } = await link.result(id);
      await stage.fence(link);
      for (const { value } of progress()) {
        must(value.progress >= 0 && value.progress <= 1, `progress is ${value.progress}`);
        must(value.message !== '', 'the message is empty');
      }
      must(
        progress().every((p) => p.report.reportId < report.reportId),
        'progress was reported after the result',
      );
    },
  },
  {
    id: 'updates/load-survives-cut',
    sentence: 'A lost connection does not stop a load',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      const next = await stage.afterCut(link);
      next.start(id);
      await stage.readyFence(next);
      stage.files.release();
      const { value } = await next.result(id);
      must(
        value.success && stage.effects(id) === 1,
        `success ${value.success}, ${stage.effects(id)} effects`,
      );
      await stage.fence(next);
      const gets = stage.files.of('GET');
      must(gets.length === 1, `the GETs began at ${list(gets)}; the first GET was not interrupted`);
    },
  },
  {
    id: 'updates/no-older-firmware',
    sentence:
      'update_firmware to a version below the installed one (compared part by part as numbers; an equal version is no downgrade) fails … A downgrade is not loaded: ask for no address.',
    prove: async (stage) => {
      const link = await stage.begin();
      const artifact = stage.files.artifact();
      const newer = stage.id();
      await start(link, newer, { case: 'updateFirmware', value: { version: '99.010.0', artifact } });
      const { link: next, value: first } = await stage.resultOverRestarts(link, newer);
      must(first.success, `the newer firmware was not installed: ${first.message}`);
      const id = stage.id();
      let asked = 0;
      stage.cloud.onUrl = () => {
        asked += 1;
        return { url: stage.files.address() };
      };
      await start(next, id, { case: 'updateFirmware', value: { version: '99.002.0', artifact } });
      const { value } = await stage.resultOverRestarts(next, id);
      must(asked === 0, 'a URL of an older firmware was requested');
      must(!value.success && stage.effects(id) === 0, 'an older firmware was installed');
      const equal = stage.id();
      await start(next, equal, { case: 'updateFirmware', value: { version: '99.010.0', artifact } });
      const again = await stage.resultOverRestarts(next, equal);
      must(again.value.success, `an equal firmware was not installed: ${again.value.message}`);
    },
  },
];
