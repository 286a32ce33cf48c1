import { create } from '@bufbuild/protobuf';
import {
  BluetoothMode,
  ConnectivityTarget,
  ConnectResponseSchema,
  ExtraType,
  ExtraTypeSchema,
  NetworkType,
  UrlRefusal,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link, OperationKind } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must, NotApplicable } from '../verdict.ts';
import { activate, firstApplication } from './activations.ts';
import { mustHold } from './offers.ts';

/** Numbers that a floating-point parser or a wrong type changes. */
const extrasJson =
  '{"page":3,"serial":9007199254740993,"least":-9223372036854775808,"ratio":1.0,"name":"A\\u00e9","on":true}';
const extraTypes = {
  page: ExtraType.INTEGER,
  serial: ExtraType.LONG,
  least: ExtraType.LONG,
  ratio: ExtraType.DOUBLE,
  name: ExtraType.STRING,
  on: ExtraType.BOOLEAN,
};
const asReceived: Readonly<Record<string, (text: string | undefined) => boolean>> = {
  page: (text) => text === '3',
  serial: (text) => text === '9007199254740993',
  least: (text) => text === '-9223372036854775808',
  ratio: (text) => Number(text) === 1,
  name: (text) => text === 'Aé',
  on: (text) => text === 'true',
};

/** Runs a connectivity operation and verifies its status code. */
async function connectivity(stage: Stage, link: Link, kind: OperationKind, codes: readonly number[]) {
  const { value } = await link.run(stage.id(), kind);
  const found = value.connectivity;
  must(found, `the result of ${kind.case} has no connectivity`);
  must(codes.includes(found.statusCode), `${kind.case} ends with ${found.statusCode}, not one of ${codes}`);
  must(value.success === (found.statusCode === 200), `success ${value.success} with ${found.statusCode}`);
  return found;
}

export const operations: readonly Rule[] = [
  {
    id: 'operations/unknown',
    sentence:
      'An operation kind that the client does not know gets its ready as every other. Its start: result success false, message This client does not know the operation.',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const value = { transactionId: id, activationEpoch: 1n, operationId: 'conformance', operation: {} };
      const offer = create(ConnectResponseSchema, { body: { case: 'offer', value } });
      const { body } = offer;
      if (body.case === 'offer' && body.value.operation) {
        body.value.operation.$unknown = [{ no: 99, wireType: 2, data: Uint8Array.from([2, 8, 1]) }];
      }
      link.sendUnknown(offer, `an offer of ${id} with an unknown operation`);
      await link.ready(id);
      link.start(id);
      const result = (await link.result(id)).value;
      must(!result.success && stage.effects(id) === 0, 'an unknown operation succeeded or took effect');
      const message = 'This client does not know the operation.';
      must(result.message === message, `the message is "${result.message}", not "${message}"`);
      await stage.fence(link);
    },
  },
  {
    id: 'operations/extras',
    sentence: 'read numbers from the text, not through a floating-point parser, as a long may exceed 2⁵³',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const { value } = await link.run(id, stage.command({ extrasJson, extraTypes }));
      must(value.success, `the app could not be called: ${value.message}`);
      const extras = stage.client.effects().find(({ transactionId }) => transactionId === id)?.extras;
      must(extras, 'the line of the effects file has no extras');
      for (const [name, right] of Object.entries(asReceived)) {
        must(right(extras[name]), `the app received ${name} as ${extras[name]}`);
      }
    },
  },
  {
    id: 'operations/unfit-extras',
    sentence:
      'The cloud sends no other; if one comes (1.5 or 1e3 as INTEGER or LONG, 1 as BOOLEAN, "1" as DOUBLE), the command fails without a call.',
    prove: async (stage) => {
      const link = await stage.begin();
      for (const [text, type] of [
        ['1.5', ExtraType.INTEGER],
        ['1e3', ExtraType.LONG],
        ['2147483648', ExtraType.INTEGER],
        ['9223372036854775808', ExtraType.LONG],
        ['1', ExtraType.BOOLEAN],
        ['"1"', ExtraType.DOUBLE],
        ['1e400', ExtraType.DOUBLE],
      ] as const) {
        const id = stage.id();
        const extras = { extrasJson: `{"page":${text}}`, extraTypes: { page: type } };
        const { value } = await link.run(id, stage.command(extras));
        must(
          !value.success && stage.effects(id) === 0,
          `an app was called with ${text} as ${ExtraTypeSchema.value[type]?.localName}`,
        );
      }
      await stage.fence(link);
    },
  },
  {
    id: 'operations/languages',
    sentence:
      'firmware, apps or languages have changed | all three, complete, as they are now; before the result of what changed them',
    prove: async (stage) => {
      const link = await stage.begin();
      for (const languages of [['eo'], ['en', 'ja']]) {
        const id = stage.id();
        const { report, value } = await link.run(id, { case: 'applyLanguages', value: { languages } });
        must(value.success && stage.effects(id) === 1, `it failed: ${value.message}`);
        const reported = link.reportsOf('inventory').at(-1);
        must(reported && reported.report.reportId < report.reportId, 'no inventory came before the result');
        must(
          String(reported.value.languages) === String(languages),
          `the inventory has the languages ${reported.value.languages}`,
        );
        must(reported.value.firmwareVersion === link.hello.firmwareVersion, 'the inventory is not complete');
      }
      const { hello } = await stage.afterCut(link);
      must(String(hello.languages) === 'en,ja', `hello has the languages ${hello.languages}`);
    },
  },
  {
    id: 'operations/uninstall',
    sentence:
      'removes package; messages uninstall success., or why not; a package that is not installed: success false',
    prove: async (stage) => {
      const link = await stage.begin();
      const update = stage.update();
      await link.run(stage.id(), update);
      const id = stage.id();
      const { package: name = '' } = update.value;
      const { report, value } = await link.run(id, { case: 'uninstall', value: { package: name } });
      must(value.success && stage.effects(id) === 1, `it failed: ${value.message}`);
      must(value.message === 'uninstall success.', `the message is "${value.message}"`);
      const reported = link.reportsOf('inventory').filter((one) => one.report.reportId < report.reportId);
      const left = (apps: readonly { package: string }[]) => apps.some((one) => one.package === name);
      must(
        reported.length > 1 && !left(reported.at(-1)?.value.apps ?? []),
        'no inventory without it came before the result',
      );
      const again = stage.id();
      const second = await link.run(again, { case: 'uninstall', value: { package: name } });
      const failed = !second.value.success && stage.effects(again) === 0;
      must(failed, 'uninstalling a package that is not installed succeeded');
      must(!left((await stage.afterKill()).hello.apps), 'hello still lists it');
    },
  },
  {
    id: 'operations/launch-type',
    sentence: 'the command fails; UNSPECIFIED: ACTIVITY',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const { value } = await link.run(id, stage.command({ launchType: 99 }));
      must(!value.success && stage.effects(id) === 0, 'an app was called with an unknown launch type');
      const plain = stage.id();
      const given = (await link.run(plain, stage.command({ launchType: 0 }))).value;
      must(given.success && stage.effects(plain) === 1, `without a launch type it failed: ${given.message}`);
    },
  },
  {
    id: 'operations/app-answer',
    sentence: 'it may come long after, also in a later session',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      const { report } = await link.run(id, stage.command());
      await stage.readyFence(link);
      const next = await stage.afterKill();
      stage.cloud.acknowledges = false;
      const appAnswer = { transactionId: String(id), success: true, message: 'shown', customData: 'data' };
      stage.client.request({ action: 'report', appAnswer });
      const answered = (on: Link) => on.until('the answer of the app', () => on.reportsOf('appAnswer')[0]);
      const first = await answered(next);
      const { transactionId, success, message, customData } = first.value;
      const right = transactionId === id && success && message === 'shown' && customData === 'data';
      must(right, 'the answer differs from the answer of the app');
      must(first.report.reportId > report.reportId, 'the report does not come after the result');
      const again = await answered(await stage.afterCut(next));
      must(again.report.reportId === first.report.reportId, 'it was repeated with another id');
    },
  },
  {
    id: 'operations/one-answer',
    sentence: 'One answer for a command; a second is not sent, for as long as the outcome is remembered',
    prove: async (stage) => {
      let link = await stage.begin();
      const id = stage.id();
      await link.run(id, stage.command());
      const answers = (on: Link) => on.reportsOf('appAnswer').map(({ report }) => report.reportId);
      const appAnswer = { transactionId: String(id), success: true, message: 'shown', customData: 'data' };
      const reportText = (on: Link, text: string) => {
        stage.client.request({ action: 'report', appAnswer });
        stage.client.request({ action: 'report', customData: { success: true, customData: text } });
        return on.until(`the report "${text}" after the answer`, () =>
          on.reportsOf('customData').some(({ value }) => value.customData === text),
        );
      };
      stage.cloud.acknowledges = false;
      await reportText(link, 'first');
      await reportText(link, 'second');
      must(answers(link).length === 1, `${answers(link).length} answers before the first is acknowledged`);
      link.ack(link.reports.at(-1)?.reportId ?? 0n);
      stage.cloud.acknowledges = true;
      await stage.readyFence(link);
      await reportText(link, 'third');
      must(answers(link).length === 1, `${answers(link).length} answers after the first is acknowledged`);
      link = await stage.afterKill();
      await reportText(link, 'fourth');
      must(answers(link).length === 0, 'a second answer after a restart');
    },
  },
  {
    id: 'operations/unknown-network',
    sentence:
      'A network_type that the operation does not have, or that the client does not know: a list 500 (MOBILE has none), reading and changing the state 400, a reset 500.',
    prove: async (stage) => {
      const link = await stage.begin();
      const run = (kind: OperationKind, code: number) => connectivity(stage, link, kind, [code]);
      const unknown = 99 as NetworkType;
      for (const networkType of [NetworkType.MOBILE, unknown]) {
        await run({ case: 'listConnectivity', value: { networkType, target: ConnectivityTarget.ALL } }, 500);
      }
      for (const networkType of [NetworkType.WIFI, unknown]) {
        await run({ case: 'readConnectivityState', value: { networkType } }, 400);
        await run({ case: 'setConnectivityState', value: { networkType, enabled: true } }, 400);
        await run({ case: 'resetConnectivity', value: { networkType } }, 500);
      }
    },
  },
  {
    id: 'operations/connectivity',
    sentence: 'Each of these ends with a result that carries connectivity; success is true exactly with 200.',
    prove: async (stage) => {
      const link = await stage.begin();
      const run = (kind: OperationKind, codes: readonly number[]) => connectivity(stage, link, kind, codes);
      const networkType = NetworkType.BLUETOOTH;
      await run(
        { case: 'listConnectivity', value: { networkType, target: ConnectivityTarget.ALL } },
        [200, 403, 500],
      );
      const set = await run(
        { case: 'setConnectivityState', value: { networkType, enabled: true } },
        [200, 400, 500],
      );
      const read = await run({ case: 'readConnectivityState', value: { networkType } }, [200, 400, 500]);
      const same = set.statusCode !== 200 || read.statusCode !== 200 || read.state === set.state;
      must(same, `the state is ${read.state} after it was set to ${set.state}`);
      await run({ case: 'resetConnectivity', value: { networkType } }, [200, 500]);
      const pairing = [200, 400, 403, 404, 409, 500];
      await run({ case: 'addPairing', value: { macAddress: '02:00:00:00:00:77' } }, pairing);
      await run({ case: 'deletePairing', value: { macAddress: 'no address' } }, [400, 403, 404, 409, 500]);
    },
  },
  {
    id: 'operations/pairing',
    sentence:
      'A pairing operation that connects or disconnects a device is followed by a bluetooth_connection report with its transaction_id: it comes after the result',
    prove: async (stage) => {
      const link = await stage.begin();
      const device = { name: 'Speaker', alias: 'speaker', address: '02:00:00:00:00:0A' };
      const bluetoothDevices = [{ ...device, paired: false, connected: false }];
      stage.client.request({ action: 'content', content: { bluetoothDevices } });
      // Lines are handled in order, so the device is in reach when this report arrives.
      stage.client.request({ action: 'report', customData: { success: true, customData: 'in reach' } });
      await link.until('the report after the device', () => link.reportsOf('customData').length > 0);
      const macAddress = device.address;
      let connected = false;
      const pairing = async (kind: OperationKind, modes: readonly BluetoothMode[]) => {
        const id = stage.id();
        const { report, value } = await link.run(id, kind);
        const found = value.connectivity;
        if (kind.case === 'addPairing' && found?.statusCode !== 200)
          throw new NotApplicable('the client offers no Bluetooth device that can be paired');
        must(value.success && found?.statusCode === 200, `${kind.case} ends with ${found?.statusCode}`);
        const [one] = found.devices;
        const same = found.devices.length === 1 && one?.address.toUpperCase() === macAddress;
        must(same, `${kind.case} reports other devices than its own`);
        must(modes.includes(one.mode), `the mode after ${kind.case} is ${one.mode}, not one of ${modes}`);
        must(one.registered === (kind.case !== 'deletePairing'), `registered is ${one.registered}`);
        must(stage.effects(id) === 1, `${stage.effects(id)} effects of ${kind.case}`);
        const isConnected = one.mode === BluetoothMode.CONNECTED;
        await stage.fence(link);
        const reported = link.reportsOf('bluetoothConnection').filter((r) => r.value.transactionId === id);
        const expected = isConnected === connected ? 0 : 1;
        must(
          reported.length === expected,
          `${reported.length} bluetooth_connection of ${kind.case}, not ${expected}`,
        );
        for (const notice of reported) {
          const mode = isConnected ? BluetoothMode.CONNECTED : BluetoothMode.DISCONNECTED;
          const right = notice.value.statusCode === 200 && notice.value.devices[0]?.mode === mode;
          must(right, `the connection after ${kind.case} has a wrong mode or code`);
          must(notice.report.reportId > report.reportId, 'the report does not come after the result');
        }
        connected = isConnected;
      };
      const { CONNECTED, DISCONNECTED, DELETED } = BluetoothMode;
      const change = (connect: boolean) =>
        pairing({ case: 'changePairing', value: { macAddress, connect } }, [
          connect ? CONNECTED : DISCONNECTED,
        ]);
      await pairing({ case: 'addPairing', value: { macAddress } }, [CONNECTED, DISCONNECTED]);
      await change(!connected);
      await change(!connected);
      await change(true);
      await pairing({ case: 'deletePairing', value: { macAddress } }, [DELETED]);
    },
  },
  {
    id: 'operations/reset-ends-uploads',
    sentence: 'An upload whose file is gone is reported as failed (URL_REFUSAL_UPLOAD_FAILED).',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      stage.cloud.onUrl = () => undefined;
      const file = `${firstApplication}/${stage.imei}/upload_files/wiped.bin`;
      stage.client.request({ action: 'upload', file, sizeBytes: 2048 });
      await link.until('the URL request', () => link.urlRequests.length > 0);
      const reset = stage.id();
      link.offer(reset, { case: 'reset', value: { applicationId: firstApplication } }, { epoch: 4n });
      await link.ready(reset);
      stage.cloud.onUrl = () => ({ url: stage.files.address() });
      link.start(reset);
      const next = await stage.cloud.online(60_000);
      const ended = await next.until('the report of the upload', () =>
        next.reportsOf('fileUpload').find(({ value }) => value.file === file),
      );
      must(ended.value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${ended.value.failure}`);
      must(
        ended.report.activationEpoch === 3n,
        `the report has epoch ${ended.report.activationEpoch}, not 3`,
      );
      await stage.fence(next, 4n);
      const count = next.reportsOf('fileUpload').filter(({ value }) => value.file === file).length;
      must(
        count === 1 && stage.files.of('PUT').length === 0,
        `${count} reports of the upload, or a PUT, after the reset`,
      );
    },
  },
  {
    id: 'operations/reset',
    sentence:
      "What must survive is stored outside the area that a reset, or the uninstallation of the client, wipes … The result is sent after that session's welcome, never in the session of the start.",
    prove: async (stage) => {
      const link = await stage.begin();
      const done = stage.id();
      await link.run(done, stage.command(), { epoch: 2n });
      stage.cloud.acknowledges = false;
      const kept = await link.run(stage.id(), stage.command(), { epoch: 2n });
      const offered = stage.id();
      link.offer(offered, stage.command(), { epoch: 3n });
      const reset = stage.id();
      link.offer(reset, { case: 'reset', value: { applicationId: 'conformance' } }, { epoch: 3n });
      await link.ready(offered);
      await link.ready(reset);
      link.start(reset);
      const next = await stage.cloud.online(60_000);
      const early = link.reportsOf('result').some((one) => one.value.transactionId === reset);
      must(!early, 'the result of the reset came in the session of its start');
      mustHold(stage, next, {
        [String(kept.value.transactionId)]: 'FINISHED',
        [String(offered)]: 'OFFERED',
        [String(reset)]: 'FINISHED',
      });
      must(next.hello.activationEpoch === 3n, `hello has epoch ${next.hello.activationEpoch}, not 3`);
      const { value } = await next.result(reset);
      must(value.success, `the reset failed: ${value.message}`);
      must(stage.effects(reset) === 1, `${stage.effects(reset)} effects of the reset`);
      const again = await next.result(kept.value.transactionId);
      must(again.report.reportId === kept.report.reportId, 'a report was repeated with another id');
      next.start(done);
      const remembered = await next.result(done, again.report.reportId);
      must(
        remembered.value.success && stage.effects(done) === 1,
        'the end of an earlier transaction is not remembered',
      );
    },
  },
];
