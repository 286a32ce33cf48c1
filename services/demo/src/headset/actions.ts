import { fromJson, type JsonObject } from '@bufbuild/protobuf';
import { ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Behaviour, checkedBehaviour } from './behaviour.ts';
import type { DeviceContent } from './content.ts';
import type { Headset } from './headset.ts';

/**
 * An action on one headset, or on all headsets if `deviceId` is absent. `set` changes the behaviour
 * (behaviour.ts), `content` changes the headset's content and surroundings (content.ts). `report` sends a
 * report in protobuf's JSON form, as in `{"action": "report", "customData": {"success": true}}`;
 * `occurredAtMs` and `activationEpoch` may be given too.
 */
export type Action = { readonly deviceId?: string; readonly afterMs?: number } & (
  | { readonly action: 'connect' | 'disconnect' }
  | { readonly action: 'away'; readonly ms: number }
  | { readonly action: 'set'; readonly behaviour: Partial<Behaviour> }
  | { readonly action: 'content'; readonly content: Partial<DeviceContent> }
  | ({ readonly action: 'report' } & Readonly<Record<string, unknown>>)
  | { readonly action: 'upload'; readonly file: string; readonly path?: string; readonly sizeBytes?: number }
  | { readonly action: 'die' }
);

/**
 * Applies the action and returns the number of headsets. Throws an Error if the action is invalid.
 */
export function apply(headsets: ReadonlyMap<string, Headset>, action: Action): number {
  const one = action.deviceId === undefined ? undefined : headsets.get(action.deviceId);
  if (action.deviceId !== undefined && !one) throw new Error(`no headset ${action.deviceId} here`);
  const targets = one ? [one] : [...headsets.values()];
  for (const headset of targets) applyToOne(headset, action);
  return targets.length;
}

function applyToOne(headset: Headset, action: Action): void {
  switch (action.action) {
    case 'connect':
      headset.connect();
      break;
    case 'disconnect':
      headset.disconnect();
      break;
    case 'away':
      if (!(action.ms >= 0)) throw new Error('away needs ms');
      headset.stayAway(action.ms);
      break;
    case 'set':
      Object.assign(headset.behaviour, checkedBehaviour(action.behaviour));
      break;
    case 'content':
      headset.changeContent(action.content);
      break;
    case 'report':
      report(headset, action);
      break;
    case 'upload':
      upload(headset, action);
      break;
    case 'die':
      process.kill(process.pid, 'SIGKILL');
      break;
    default:
      throw new Error(`unknown action ${JSON.stringify((action as { action: unknown }).action)}`);
  }
}

function report(headset: Headset, action: Readonly<Record<string, unknown>>): void {
  const { action: _, deviceId: __, afterMs: ___, ...json } = action;
  const { body, occurredAtMs, activationEpoch } = fromJson(ReportSchema, json as JsonObject);
  if (body.case === undefined) throw new Error('a report needs one of the bodies of Report');
  headset.report(body, {
    occurredAtMs: 'occurredAtMs' in json ? Number(occurredAtMs) : undefined,
    activationEpoch: 'activationEpoch' in json ? Number(activationEpoch) : undefined,
  });
}

function upload(headset: Headset, action: { file: string; path?: string; sizeBytes?: number }): void {
  const { file, path, sizeBytes } = action;
  if (typeof file !== 'string') throw new Error('upload needs file');
  if (path !== undefined) headset.upload({ file, path });
  else if (sizeBytes !== undefined && sizeBytes >= 0) headset.upload({ file, sizeBytes });
  else throw new Error('upload needs path or sizeBytes');
}
