import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type Hello,
  HelloSchema,
  type Report,
  ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';

/** Largest message to the cloud (protocol page, "Limits"); bytes. */
const maxMessageBytes = 256 * 1024;
/** Upper bound of the encoding overhead around a report or a hello; bytes. */
const envelopeBytes = 16;
const maxListItems = 256;

/** Cuts texts and lists of a report to their limits. Throws an Error if the report is still too large. */
export function withinLimits(report: Report): Report {
  const { body } = report;
  switch (body.case) {
    case 'result':
      body.value.message = cut(body.value.message, 1024);
      if (body.value.connectivity) {
        const { connectivity } = body.value;
        connectivity.devices = connectivity.devices.slice(0, maxListItems).map((d) => cutTexts(d, 128));
        connectivity.networks = connectivity.networks.slice(0, maxListItems).map((n) => cutTexts(n, 128));
      }
      break;
    case 'bluetoothConnection':
      body.value.message = cut(body.value.message, 1024);
      body.value.devices = body.value.devices.slice(0, maxListItems).map((d) => cutTexts(d, 128));
      break;
    case 'appAnswer':
      body.value.message = cut(body.value.message, 1024);
      body.value.customData = cut(body.value.customData, 65_536);
      break;
    case 'customData':
      body.value.customData = cut(body.value.customData, 65_536);
      break;
    case 'progress':
      body.value.message = cut(body.value.message, 1024);
      break;
    case 'appStatus':
      body.value.text = cut(body.value.text, 4096);
      break;
    case 'networkLevel':
      body.value.networkName = cut(body.value.networkName, 255);
      break;
    case 'inventory':
      leaveOutApps(body.value, () => toBinary(ReportSchema, report).length);
      break;
    default:
      break;
  }
  const bytes = toBinary(ReportSchema, report).length + envelopeBytes;
  if (bytes > maxMessageBytes) throw new Error(`a report of ${bytes} bytes is too large: ${body.case}`);
  return report;
}

/** Builds a hello that fits into a message. If it is too large, the last apps of the list are left out. */
export function fittingHello(init: MessageInitShape<typeof HelloSchema>): Hello {
  const hello = create(HelloSchema, init);
  leaveOutApps(hello, () => toBinary(HelloSchema, hello).length);
  return hello;
}

function leaveOutApps(of: { apps: unknown[] }, bytes: () => number): void {
  while (of.apps.length > 0 && bytes() + envelopeBytes > maxMessageBytes) {
    of.apps.length -= Math.ceil(of.apps.length / 16);
  }
}

/** Cuts all texts of a message. */
function cutTexts<T extends object>(of: T, maxCharacters: number): T {
  for (const [key, value] of Object.entries(of)) {
    if (typeof value === 'string' && !key.startsWith('$'))
      Object.assign(of, { [key]: cut(value, maxCharacters) });
  }
  return of;
}
