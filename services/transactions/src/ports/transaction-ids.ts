/** Draws the ids of transactions; those of a device rise (rule C3). */
export interface TransactionIds {
  /** An id above everything created for the device so far. */
  drawIdFor(deviceId: string): Promise<number>;
  drawId(): Promise<number>;
  /** Makes the next ids higher than those of other processes, if `id` is too low for its device. */
  dropIdBlockOf(id: number): void;
}
