/** Draws transaction ids; the ids of one device rise (rule C3). */
export interface TransactionIds {
  /** Draws an id above all ids of the device so far. */
  drawIdFor(deviceId: string): Promise<number>;
  drawId(): Promise<number>;
  /**
   * Discards the id block of `id`, which is too low for its device; the next block is above the ids of other
   * processes.
   */
  dropIdBlockOf(id: number): void;
}
