import { randomUUID } from 'node:crypto';
import type { TestCallbacksService } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Idempotency, Storable } from '@headset-cloud/rules/idempotency.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type DestinationSetting, destinationSettings } from '../domain/delivery.ts';
import type { TestResult } from '../test-callbacks/request.ts';
import type { TestCallbacks, TestOutcome } from '../test-callbacks/test-callbacks.ts';

/** An outcome as plain data, which can be stored. */
type StoredOutcome = TestOutcome & { readonly [key: string]: Storable };

/**
 * POST …/test_callbacks. A repeat with its Idempotency-Key gets the first answer, and the receiver gets the same id.
 */
export function sendTestCallback(deps: {
  readonly tests: Pick<TestCallbacks, 'send'>;
  readonly idempotency: Idempotency;
}): Handlers<typeof TestCallbacksService>['sendTestCallback'] {
  return async ({ caller, destination, body, verify }, { signal }) => {
    const applicationId = caller?.applicationId ?? '';
    if (!caller || applicationId === '') {
      throw new DomainError('invalid_argument', 'The call names no caller.');
    }
    if (!isSetting(destination)) {
      throw new DomainError(
        'invalid_argument',
        `destination is not one of ${destinationSettings.join(', ')}.`,
      );
    }
    const { webhookId, sent, outcome } = await deps.idempotency.run(caller, {
      draw: async () => `test-${randomUUID()}`,
      async work(webhookId) {
        const outcome = await deps.tests.send(
          { applicationId, destination, body, verify, webhookId },
          signal,
        );
        return { webhookId, sent: Buffer.from(body).toString(), outcome: outcome as StoredOutcome };
      },
    });
    const { host, attempt, verification } = outcome;
    return {
      ...{ webhookId, host, attempt: message(attempt), body: Buffer.from(sent) },
      ...(verification && {
        verification: { ...verification, attempt: message(verification.attempt) },
      }),
    };
  };
}

function message({ atMs, tls, ...rest }: TestResult) {
  return {
    ...rest,
    atMs: BigInt(atMs),
    ...(tls && { tls: { ...tls, validToMs: BigInt(tls.validToMs) } }),
  };
}

function isSetting(text: string): text is DestinationSetting {
  return (destinationSettings as readonly string[]).includes(text);
}
