import type { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type SignedUrlsSetting, signedUrlsSettings } from '../domain/delivery.ts';
import { answerLimit } from '../domain/signed-urls.ts';
import type { SignedUrls } from '../signed-urls/request.ts';

/** Requests signed URLs for communication (recordings) and devices (files from headsets). */
export function requestSignedUrls(
  signedUrls: Pick<SignedUrls, 'request'>,
): Handlers<typeof SignedUrlsService>['requestSignedUrls'] {
  return async ({ applicationId, setting, body, maxAnswerBytes }, { signal }) => {
    if (applicationId === '') throw new DomainError('invalid_argument', 'application_id is missing.');
    if (!isSetting(setting)) {
      throw new DomainError('invalid_argument', `setting is not one of ${signedUrlsSettings.join(', ')}.`);
    }
    const request = { applicationId, setting, body, maxAnswerBytes: answerLimit(maxAnswerBytes) };
    return { body: await signedUrls.request(request, signal) };
  };
}

function isSetting(text: string): text is SignedUrlsSetting {
  return (signedUrlsSettings as readonly string[]).includes(text);
}
