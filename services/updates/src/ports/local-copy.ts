/** An object's content as a file on this machine. */
export interface LocalCopy {
  readonly path: string;
  dispose(): Promise<void>;
}
