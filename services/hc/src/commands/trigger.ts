import { suggesting } from '@headset-cloud/cli/completion.ts';
import { exceptOutputClosed, refusedError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { type Field, fields, visible } from '@headset-cloud/cli/output.ts';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Api } from '../api.ts';
import { eventTypes } from '../event-types.ts';
import type { Session } from '../session.ts';

/** Settings that contain callback URLs. */
export const destinations = [
  'deviceEvent',
  'soraEvent',
  'soraFileSendEvent',
  'fileUploadEvent',
  'noticeEvent',
];

interface Received {
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly reason: string | null;
  readonly tls: { readonly protocol: string; readonly subject: string; readonly validTo: string } | null;
  readonly answer: string | null;
  readonly answerTruncated: boolean;
}

interface TestResult extends Received {
  readonly webhookId: string;
  readonly type: string;
  readonly destination: string;
  readonly host: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly verification: (Received & { readonly refused: boolean | null }) | null;
}

interface EventTypes {
  readonly eventTypes: readonly {
    readonly type: string;
    readonly summary: string;
    readonly destination: string;
    readonly examples: readonly { readonly name: string }[];
  }[];
}

interface TriggerOptions {
  readonly destination?: string;
  readonly example?: string;
  readonly fields?: object;
  readonly verify?: boolean;
  readonly idempotencyKey?: string;
}

/** `trigger`. */
export function addTrigger(program: Command, session: Session): void {
  program
    .command('trigger')
    .addArgument(suggesting(new Argument('[type]', 'callback type'), eventTypes))
    .description('send a test callback to a registered URL now; without a type: list the types')
    .addOption(
      new Option(
        '--destination <setting>',
        "setting whose URL gets the callback; default: the type's setting",
      ).choices(destinations),
    )
    .option('--example <name>', 'example of the type; default: the first example')
    .option('--fields <json>', 'fields that replace fields of the example', jsonObject)
    .option('--verify', 'also send a callback with a wrong signature, which the receiver must reject')
    .option('--idempotency-key <key>', 'repeat an earlier call with this key safely')
    .addHelpText(
      'after',
      `
Ends with exit code 1 if the receiver does not accept the callback, or does not reject the wrong signature.

Examples:
  $ hc trigger
  $ hc trigger notify-boot --verify
  $ hc trigger notify-custom-data --example data --fields '{"deviceId":"350000000000014"}'
`,
    )
    .action(async (type: string | undefined, options: TriggerOptions) => {
      if (type === undefined) return list(session);
      const api = session.api('cws:application:read', 'cws:application:write');
      const result = await api.post<TestResult>(
        '/test_callbacks',
        {
          type,
          destination: options.destination ?? (await destinationOf(api, type)),
          ...(options.example !== undefined && { example: options.example }),
          ...(options.fields && { fields: options.fields }),
          ...(options.verify && { verify: true }),
        },
        options.idempotencyKey,
      );
      session.show(result, resultText);
      await session.terminal.flushed?.().catch(exceptOutputClosed);
      if (result.reason !== null) {
        throw refusedError(`The callback was not accepted: ${visible(result.reason)}`);
      }
      if (result.verification && result.verification.refused !== true) {
        throw refusedError(
          result.verification.refused === false
            ? 'The receiver accepted a callback with a wrong signature, so it does not verify signatures. Verify both signatures before any other processing.'
            : 'The receiver neither accepted nor rejected the wrong signature. It must answer 4xx.',
        );
      }
    });
}

async function list(session: Session): Promise<void> {
  const { eventTypes } = await session.api('cws:application:read').get<EventTypes>('/event_types');
  session.show({ eventTypes }, () =>
    session.table(
      eventTypes,
      [
        ['TYPE', (t) => t.type],
        ['DESTINATION', (t) => t.destination],
        ['EXAMPLES', (t) => t.examples.map(({ name }) => name).join(' ')],
        ['SUMMARY', (t) => t.summary],
      ],
      'No types.',
    ),
  );
}

async function destinationOf(api: Api, type: string): Promise<string> {
  const { eventTypes } = await api.get<EventTypes>('/event_types');
  const found = eventTypes.find((one) => one.type === type);
  if (found) return found.destination;
  const near = eventTypes
    .map((one) => one.type)
    .filter((name) => name.includes(type.replace(/^notify-/, '')));
  throw usageError(
    `There is no type ${visible(type)}. ${near.length > 0 ? `Did you mean ${visible(near.join(', '))}?` : 'hc trigger lists them.'}`,
  );
}

function resultText(result: TestResult): string {
  const text = fields([
    ['webhook-id', result.webhookId],
    ['type', result.type],
    ['destination', `${result.destination} at ${result.host}`],
    ...receivedFields(result),
  ]);
  if (!result.verification) return text;
  const verdict = verdictOf(result.verification.refused, result.reason !== null);
  return `${text}\nWith a wrong signature:\n${fields([['signature', verdict], ...receivedFields(result.verification)])}`;
}

/** `refused`: the receiver rejected the wrong signature; null: unknown. `failed`: it did not accept the correct one. */
function verdictOf(refused: boolean | null, failed: boolean): string {
  if (refused === null) return 'not tested';
  if (!refused) return 'ACCEPTED';
  // If the receiver rejects every callback, the rejection of the wrong signature proves nothing.
  return failed ? 'not tested: the correct signature was rejected, too' : 'rejected, as required';
}

function receivedFields({ statusCode, durationMs, reason, tls, answer, answerTruncated }: Received): Field[] {
  return [
    ['answer', statusCode === null ? 'none' : `${statusCode} after ${durationMs} ms`],
    ...(reason === null ? [] : [['reason', reason] as Field]),
    ...(tls === null ? [] : [['TLS', `${tls.protocol}, ${tls.subject}, valid to ${tls.validTo}`] as Field]),
    ...(answer ? [['body', `${answer}${answerTruncated ? '…' : ''}`] as Field] : []),
  ];
}

function jsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Handled below.
  }
  throw new InvalidArgumentError('It is not a JSON object such as {"deviceId":"350000000000014"}.');
}
