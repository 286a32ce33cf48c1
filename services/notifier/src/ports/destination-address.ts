/** Current URL for callbacks of an application's setting, and the key that signs them. */
export interface DestinationAddress {
  readonly url: URL;
  readonly authenticationKey: string;
}
