import { create } from '@bufbuild/protobuf';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { ResultForm } from '@headset-cloud/proto/operations.ts';
import {
  callbackBody,
  callbackId,
  callbackSequence,
  maxProgressReports,
  needsOperation,
} from './callbacks.ts';
import { formOf } from './forms/operations.ts';
import type { PendingCallback } from './pending-callbacks.ts';

const command = 'put-v1-applications-devices-commands';
const app = 'put-v1-applications-devices-apps';
const firmware = 'put-v1-applications-devices-firmware';
const uninstall = 'delete-v1-applications-devices-package';
const connectivity = [
  'get-v1-applications-connectivity-list',
  'get-v1-applications-connectivity-state',
  'put-v1-applications-connectivity-state',
  'delete-v1-applications-connectivity-reset',
  'post-v1-applications-bluetooth-device',
  'put-v1-applications-bluetooth-device',
  'delete-v1-applications-bluetooth-device',
];

const pending = (
  kind: PendingCallback['kind'],
  success = true,
  more: Partial<PendingCallback> = {},
): PendingCallback => ({
  kind,
  atMs: 7,
  success,
  message: 'm',
  ...more,
});
const common = (operationId: string) => ({
  applicationId: 'a',
  deviceId: 'd',
  timestamp: 7,
  transactionId: 5,
  operationId,
});
const body = (operationId: string, callback: PendingCallback, progress = 0) =>
  JSON.stringify(
    callbackBody(
      {
        applicationId: 'a',
        deviceId: 'd',
        transactionId: 5,
        operationId,
        progress,
        ...(needsOperation(operationId, callback.kind) && {
          operation: create(OperationSchema, {
            kind:
              operationId === uninstall
                ? { case: 'uninstall', value: { package: 'com.example' } }
                : { case: 'resetConnectivity', value: {} },
          }).kind,
        }),
      },
      callback,
    ),
  );
const general = (operationId: string, notificationType: string, result: string) => ({
  ...common(operationId),
  notificationType,
  result,
  message: 'm',
});
const everyOperation = [command, app, firmware, uninstall, ...connectivity];

describe('bodies of callbacks', () => {
  // proves cb/3/canceled
  it.each(everyOperation)('%s: a cancellation has the general form without extras', (id) => {
    expect(body(id, pending('canceled', false), 0.5)).toBe(
      JSON.stringify(general(id, 'processed', 'failure')),
    );
  });

  it.each(everyOperation.filter((id) => formOf(id) !== ResultForm.UPDATE))(
    '%s: accepted has the general form',
    (id) => {
      expect(body(id, pending('accepted'))).toBe(JSON.stringify(general(id, 'accepted', 'success')));
    },
  );

  // proves cb/4/notification-types
  it.each([app, firmware])('%s: each step has its progress', (id) => {
    const step = { reportId: 9, number: 1, value: 0.25 };
    const shown = (type: string, result: string, progress: number) =>
      JSON.stringify({ ...general(id, type, result), progress });
    expect(body(id, pending('accepted'), 0.5)).toBe(shown('accepted', 'success', 0));
    expect(body(id, pending('progress', true, { step }), 0.5)).toBe(shown('in_progress', 'success', 0.25));
    expect(body(id, pending('processed'), 0.5)).toBe(shown('processed', 'success', 1));
    expect(body(id, pending('processed', false), 0.5)).toBe(shown('processed', 'failure', 0.5));
    expect(body(id, pending('processed', false))).toBe(shown('processed', 'failure', 0));
  });

  it('the end of an uninstallation contains the package', () => {
    for (const success of [true, false]) {
      const result = success ? 'success' : 'failure';
      expect(body(uninstall, pending('processed', success))).toBe(
        JSON.stringify({ ...general(uninstall, 'processed', result), package: 'com.example' }),
      );
    }
  });

  // proves cb/3/op-connectivity-list, cb/3/op-get-state, cb/3/op-put-state, cb/3/op-reset
  // proves cb/3/op-post-bluetooth, cb/3/op-put-bluetooth, cb/3/op-delete-bluetooth
  it.each(connectivity)('%s: the end has the form of connectivity, in its order', (id) => {
    const found = { statusCode: 200, state: 'unknown', devices: [], networks: [] } as const;
    expect(body(id, pending('processed', true, { connectivity: found }))).toBe(
      JSON.stringify({ ...common(id), message: 'm', networkType: 'bluetooth', statusCode: 200 }),
    );
  });

  // proves cb/3/command, cb/4/command-two
  // proves cb/3/transaction, cb/3/op-commands
  it('a command ends in the general form, and its app’s answer has the command form', () => {
    expect(body(command, pending('processed', false))).toBe(
      JSON.stringify(general(command, 'processed', 'failure')),
    );
    expect(body(command, pending('answer', true, { customData: 'c' }))).toBe(
      JSON.stringify({
        ...common(command),
        success: true,
        process: 'processed',
        message: 'm',
        customData: 'c',
      }),
    );
  });
});

describe('callbacks of one transaction', () => {
  const step = (number: number, reportId = 3) =>
    pending('progress', true, { step: { reportId, number, value: 0 } });

  it('are numbered in the order: the start, progress, the end, the answer', () => {
    const numbers = (reports: number) =>
      [pending('accepted'), step(1), step(reports), pending('processed'), pending('answer')].map((callback) =>
        callbackSequence(callback, reports),
      );
    expect(numbers(maxProgressReports)).toEqual([1, 2, 999_999, 1_000_000, 1_000_001]);
    expect(numbers(2)).toEqual([1, 2, 3, 4, 5]);
    expect(callbackSequence(pending('canceled'), 2)).toBe(4);
  });

  it('are numbered without a gap when there is no progress', () => {
    const numbers = [pending('accepted'), pending('processed'), pending('answer')].map((callback) =>
      callbackSequence(callback, 0),
    );
    expect(numbers).toEqual([1, 2, 3]);
  });

  it('have one id each, and progress has one per report', () => {
    expect(
      [pending('accepted'), step(1, 41), step(2, 42), pending('canceled')].map((o) => callbackId(5, o)),
    ).toEqual(['tx-5-accepted', 'tx-5-progress-41', 'tx-5-progress-42', 'tx-5-canceled']);
  });
});
