import type { relations } from './related';
import type { ApiInput } from './types';

/** What every part of a reference needs; passed down by hand, since nothing here is hydrated. */
export interface View {
  readonly input: ApiInput;
  readonly related: ReturnType<typeof relations>;
  /** Markdown → safe HTML with links to what its inline code names; `own` is the anchor that is not linked. */
  readonly html: (text: string) => string;
  readonly addressOf: (name: string) => string | undefined;
}
