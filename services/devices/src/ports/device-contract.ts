/** A contract that contains the device to be activated. */
export interface DeviceContract {
  readonly activationLimit: number;
  /** Rises with each change of the contract, and after each change of its slots. */
  readonly changes: number;
}
