import type { TestAttempt } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import type { GatewayClients } from '../clients.ts';
import { invalidBody } from '../http/errors.ts';
import { readDocument } from '../openapi/document.ts';
import { type EventDestination, eventDocuments, readEventTypes } from '../openapi/event-types.ts';
import { bodyValidator, SchemaCompiler } from '../openapi/validators.ts';
import { bodyOf } from './decode.ts';
import { dateOf } from './encode.ts';
import type { Handlers } from './types.ts';

interface TestCallbackBody {
  readonly type: string;
  readonly destination: EventDestination;
  readonly example?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly verify?: boolean;
}

function attemptJson(attempt: TestAttempt): object {
  const { atMs, durationMs, statusCode, reason, tls, answer, answerCut } = attempt;
  return {
    sentAt: dateOf(atMs),
    durationMs,
    statusCode: statusCode || null,
    reason: reason || null,
    tls: tls
      ? {
          ...{ protocol: tls.protocol, cipher: tls.cipher, subject: tls.subject, issuer: tls.issuer },
          validTo: dateOf(tls.validToMs),
        }
      : null,
    answer: statusCode === 0 ? null : answer,
    answerTruncated: answerCut,
  };
}

/**
 * Test callbacks. The body is a documented example in which `fields` of the request replaces fields. It must match the
 * schema of its type, so that no callback is sent that the platform would never send.
 */
export function testCallbackHandlers(
  { tests }: Pick<GatewayClients, 'tests'>,
  clock: Clock = systemClock,
): Handlers {
  const types = new Map(readEventTypes().map((one) => [one.type, one]));
  const compilers = new Map(
    eventDocuments.map((name) => [name, new SchemaCompiler(name, readDocument(name))]),
  );
  const checks = new Map(
    [...types.values()].flatMap((one) => {
      const compiler = compilers.get(one.document);
      // The example is valid, so an invalid value is in `fields` of the request.
      return compiler
        ? [[one.type, bodyValidator(compiler.ofReference(one.bodyRef), '/fields')] as const]
        : [];
    }),
  );
  return {
    'post-v1-applications-test-callbacks': async (call) => {
      const { type, destination, example, fields = {}, verify = false } = bodyOf<TestCallbackBody>(call);
      const kind = types.get(type);
      if (!kind) throw invalidBody('/type', 'is not a type of callback (GET .../event_types).');
      if (kind.destination !== destination) {
        throw invalidBody('/destination', `must be ${kind.destination} for this type.`);
      }
      const chosen = kind.examples.find(({ name }) => name === (example ?? kind.examples[0]?.name));
      if (!chosen) throw invalidBody('/example', 'is not an example of this type (GET .../event_types).');
      const { applicationId } = call;
      const body = {
        ...{ ...chosen.body, applicationId },
        ...('timestamp' in chosen.body && { timestamp: clock.now() }),
        ...fields,
        // The caller cannot choose the application.
        applicationId,
      };
      checks.get(type)?.(body);
      const outcome = await tests.sendTestCallback({
        ...{ caller: call.caller, destination, verify },
        body: Buffer.from(JSON.stringify(body)),
      });
      const { webhookId, host, attempt, verification } = outcome;
      if (!attempt) throw new Error('the notifier returned no attempt');
      return {
        status: 200,
        json: {
          ...{ webhookId, type, destination, host },
          body: JSON.parse(Buffer.from(outcome.body).toString()),
          ...attemptJson(attempt),
          verification: verification?.attempt
            ? { refused: verification.refused ?? null, ...attemptJson(verification.attempt) }
            : null,
        },
      };
    },
  };
}
