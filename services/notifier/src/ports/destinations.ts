import type { DestinationSetting, SignedUrlsSetting } from '../domain/delivery.ts';
import type { DestinationAddress } from './destination-address.ts';

/** Reads destinations at each attempt (rule A18). */
export interface Destinations {
  /** Undefined if the address or the key is not set. Rejects when devices is unavailable. */
  get(
    applicationId: string,
    setting: DestinationSetting | SignedUrlsSetting,
  ): Promise<DestinationAddress | undefined>;
}
