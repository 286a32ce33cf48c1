import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type CommandSchema,
  ExtraType,
  LaunchType,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { GatewayClients } from '../clients.ts';
import { type ExtraKind, extraKind, extrasLimitBytes } from '../domain/extras.ts';
import { invalidBody } from '../http/errors.ts';
import { compact, type JsonText, parseText } from '../http/json.ts';
import { operate } from './operate.ts';
import type { Handlers } from './types.ts';

const launchTypes: Readonly<Record<string, LaunchType>> = {
  activity: LaunchType.ACTIVITY,
  service: LaunchType.SERVICE,
  foregroundservice: LaunchType.FOREGROUNDSERVICE,
  broadcast: LaunchType.BROADCAST,
};

const extraTypes: Readonly<Record<ExtraKind, ExtraType>> = {
  string: ExtraType.STRING,
  boolean: ExtraType.BOOLEAN,
  integer: ExtraType.INTEGER,
  long: ExtraType.LONG,
  double: ExtraType.DOUBLE,
  array: ExtraType.ARRAY,
  object: ExtraType.OBJECT,
};

interface CommandBody {
  readonly package?: string;
  readonly classpath?: string;
  readonly action?: string;
  readonly launchType: string;
  readonly extras?: object;
}

type Extras = Required<Pick<MessageInitShape<typeof CommandSchema>, 'extrasJson' | 'extraTypes'>>;

/** Extras as written, without insignificant white space, and each entry's type (rule A8). */
function readExtras(body: JsonText): Extras {
  const span = body.members.get('extras');
  if (!span) return { extrasJson: '', extraTypes: {} };
  const extrasJson = compact(body.text.slice(span.from, span.to));
  if (Buffer.byteLength(extrasJson) > extrasLimitBytes) {
    throw invalidBody('/extras', `is longer than ${extrasLimitBytes} bytes.`);
  }
  const entries: [string, ExtraType][] = [];
  for (const [name, { from, to }] of parseText(extrasJson).members) {
    entries.push([name, extraTypes[extraKind(extrasJson.slice(from, to))]]);
  }
  // fromEntries also creates own properties for names such as __proto__.
  return { extrasJson, extraTypes: Object.fromEntries(entries) };
}

/** A command request in the services' form. Throws invalid_body when the extras are too long. */
export function decodeCommand(body: JsonText): MessageInitShape<typeof CommandSchema> {
  const command = body.value as CommandBody;
  const { extrasJson, extraTypes: types } = readExtras(body);
  return {
    package: command.package ?? '',
    classpath: command.classpath ?? '',
    action: command.action ?? '',
    launchType: launchTypes[command.launchType] ?? LaunchType.UNSPECIFIED,
    extrasJson,
    extraTypes: types,
  };
}

/**
 * Commands (rule A8). A command without a target is accepted; the headset reports its failure, which is sent as a
 * callback.
 */
export function commandHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'put-v1-applications-devices-commands': async (call) =>
      operate(devices, call, {
        case: 'command',
        value: decodeCommand(call.body as JsonText),
      }),
  };
}
