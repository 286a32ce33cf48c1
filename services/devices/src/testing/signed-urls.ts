import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';

/** Fake of the notifier's call to the integrator for tests of this service. Records the calls. */
export class SignedUrlsFake {
  readonly asked: { readonly applicationId: string; readonly setting: string; readonly body: unknown }[] = [];
  /** The integrator's answer, or the error that the notifier throws. */
  answer: Uint8Array | Error = Buffer.from('{"url":"https://bucket.example/key?signature=1"}');

  get binding(): RpcBinding {
    return bind(SignedUrlsService, {
      requestSignedUrls: async ({ applicationId, setting, body }) => {
        this.asked.push({ applicationId, setting, body: JSON.parse(Buffer.from(body).toString()) });
        if (this.answer instanceof Error) throw this.answer;
        return { body: this.answer };
      },
    });
  }
}
